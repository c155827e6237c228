// Attention along the few links of a target, forward and backward.

// Numbers that lie one after the other in one piece of memory. The first time it only counts how many.
struct Memory {
    float* base;
    long used;

    float* take(long count) {
        float* start = base ? base + used : nullptr;
        used += up(count, LANES) + LANES;  // arrays a multiple of 4096 bytes apart would be in each other's way
        return start;
    }
};

// Links of `targets` graphs to `sources` ones, the first of which are the targets; `places` each, not all of them taken.
// Of scores and their gradients there are [graphs, heads], of what belongs to a link [targets, heads, places].
struct LinkSoftmax {
    long targets, sources, places, heads;
    float slope;
    const int64_t* source;
    const uint8_t* taken;
    float *as_source, *as_target, *grad_as_source, *grad_as_target;
    float *weight, *grad_weight;  // of links: attention after dropout, and the gradient at it
    float *p, *pair;

    void place(Memory& memory) {
        for (float** scores : {&as_source, &as_target, &grad_as_source, &grad_as_target})
            *scores = memory.take(sources * heads);
        for (float** of_links : {&weight, &grad_weight, &p, &pair}) *of_links = memory.take(targets * heads * places);
    }

    // visit(target, head, source, place among what belongs to links) for every link
    template <class Visit>
    INLINE void each(Visit visit) const {
        for (long v = 0; v < targets; ++v)
            for (long h = 0; h < heads; ++h)
                for (long l = 0; l < places; ++l)
                    if (taken[v * places + l]) visit(v, h, source[v * places + l], (v * heads + h) * places + l);
    }

    // `keep`: [places, `graphs`, heads].
    INLINE void forward(const float* keep, long graphs) {
        for (long v = 0; v < targets; ++v)
            for (long h = 0; h < heads; ++h) {
                const long first = (v * heads + h) * places;
                float most = -INFINITY, total = 0;
                for (long l = 0; l < places; ++l) {
                    if (!taken[v * places + l]) continue;
                    const float score = as_source[source[v * places + l] * heads + h] + as_target[v * heads + h];
                    pair[first + l] = score > 0 ? score : slope * score;
                    if (pair[first + l] > most) most = pair[first + l];
                }
                for (long l = 0; l < places; ++l) {
                    p[first + l] = taken[v * places + l] ? std::exp(pair[first + l] - most) : 0;
                    total += p[first + l];
                }
                for (long l = 0; l < places; ++l) {
                    p[first + l] /= total;
                    weight[first + l] = p[first + l] * keep[(l * graphs + v) * heads + h];
                }
            }
    }

    INLINE void backward(const float* keep, long graphs) {
        for (long i = 0; i < sources * heads; ++i) grad_as_source[i] = grad_as_target[i] = 0;
        for (long v = 0; v < targets; ++v)
            for (long h = 0; h < heads; ++h) {
                const long first = (v * heads + h) * places;
                float mean = 0;
                for (long l = 0; l < places; ++l) {
                    if (!taken[v * places + l]) continue;
                    grad_weight[first + l] *= keep[(l * graphs + v) * heads + h];
                    mean += p[first + l] * grad_weight[first + l];
                }
                for (long l = 0; l < places; ++l) {
                    if (!taken[v * places + l]) continue;
                    const float at_link = p[first + l] * (grad_weight[first + l] - mean);
                    const float at_pair = pair[first + l] > 0 ? at_link : slope * at_link;
                    grad_as_source[source[v * places + l] * heads + h] += at_pair;
                    grad_as_target[v * heads + h] += at_pair;
                }
            }
    }
};

// Rows divided by their L2 norm, as `F.normalize` does it.
INLINE void normalise(long rows, long width, float* y, float* norm) {
    for (long r = 0; r < rows; ++r) {
        const float length = std::sqrt(dot(width, y + r * width, y + r * width));
        norm[r] = length > 1e-12f ? length : 1e-12f;
        for (long c = 0; c < width; c += LANES) store(y + r * width + c, load(y + r * width + c) / all(norm[r]));
    }
}

INLINE void normalise_backward(long rows, long width, const float* y, const float* norm, float* grad) {
    for (long r = 0; r < rows; ++r) {
        const float along = dot(width, grad + r * width, y + r * width);
        for (long c = 0; c < width; c += LANES)
            store(grad + r * width + c, (load(grad + r * width + c) - all(along) * load(y + r * width + c)) / all(norm[r]));
    }
}

// The same of the columns of y [rows, columns], of which two rows lie `step` apart; `columns` is a multiple of LANES.
INLINE void normalise_columns(long rows, long columns, float* y, long step, float* norm) {
    for (long c = 0; c < columns; c += LANES) {
        Lanes total{};
        for (long r = 0; r < rows; ++r) total += load(y + r * step + c) * load(y + r * step + c);
        for (long i = 0; i < LANES; ++i) {
            const float length = std::sqrt(total[i]);
            norm[c + i] = length > 1e-12f ? length : 1e-12f;
        }
        for (long r = 0; r < rows; ++r) store(y + r * step + c, load(y + r * step + c) / load(norm + c));
    }
}

INLINE void normalise_columns_backward(long rows, long columns, const float* y, long step, const float* norm, float* grad) {
    for (long c = 0; c < columns; c += LANES) {
        Lanes along{};
        for (long r = 0; r < rows; ++r) along += load(grad + r * step + c) * load(y + r * step + c);
        for (long r = 0; r < rows; ++r)
            store(grad + r * step + c, (load(grad + r * step + c) - along * load(y + r * step + c)) / load(norm + c));
    }
}
