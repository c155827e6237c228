// The two attention layers and the head of one episode, forward and backward, with Adam on their matrices.
//
// S supports, n1 graphs that they attend to, n2 graphs that those attend to; H heads of d features, padded with zeros
// to `wide`, a multiple of PANEL. What is padded has gradients of zero, so that Adam leaves it at zero. What is small
// (attention vectors, biases, the output of the head) lies in one array, as do its gradients.

// Attention vectors [2 H, wide], the sources' and then the targets', and a bias [wide].
struct Vectors {
    float *attention, *bias, *grad_attention, *grad_bias;
};

// `ProductsFirst`: n2 graphs with constant features to n1. A column of features that is zero in all graphs has weights
// with gradients of zero, which Adam never moves; such columns are left out, and `kept` counts the others.
struct FirstLayer {
    long graphs, kept, wide;
    LinkSoftmax links;
    Vectors vectors;
    Tuned weight;    // [H wide / PANEL, kept, PANEL]
    float* x;        // [kept, n2]
    float* x_tiles;  // [kept / BLOCK, n2, BLOCK]
    float* rows;     // [H, n2, wide]
    float* grad_rows;
    float *y, *grad_y;  // [n1, wide]

    INLINE void forward(const float* keep, long masked) {
        const long heads = links.heads, targets = links.targets;
        for (long h = 0; h < heads; ++h) {
            float* own = rows + h * graphs * wide;
            const float* as_source = vectors.attention + h * wide;
            const float* as_target = vectors.attention + (heads + h) * wide;
            for (long c = 0; c < wide; c += PANEL)
                few_rows(graphs, kept, PANEL, x, graphs, weight.weight + (h * wide + c) * kept, PANEL, own + c, wide);
            for (long u = 0; u < graphs; ++u) links.as_source[u * heads + h] = dot(wide, as_source, own + u * wide);
            for (long v = 0; v < targets; ++v) links.as_target[v * heads + h] = dot(wide, as_target, own + v * wide);
        }
        links.forward(keep, masked);
        for (long v = 0; v < targets; ++v) std::memcpy(y + v * wide, vectors.bias, sizeof(float) * wide);
        links.each([&](long v, long h, long u, long link) {
            add(wide, links.weight[link], rows + (h * graphs + u) * wide, y + v * wide);
        });
    }

    INLINE void backward(const float* keep, long masked, const Adam& adam) {
        const long heads = links.heads, targets = links.targets;
        for (long v = 0; v < targets; ++v) add(wide, 1, grad_y + v * wide, vectors.grad_bias);
        links.each([&](long v, long h, long u, long link) {
            links.grad_weight[link] = dot(wide, grad_y + v * wide, rows + (h * graphs + u) * wide);
        });
        links.backward(keep, masked);
        for (long h = 0; h < heads; ++h)
            for (long u = 0; u < graphs; ++u) {
                const float at_source = links.grad_as_source[u * heads + h], at_target = links.grad_as_target[u * heads + h];
                const long row = (h * graphs + u) * wide, source = h * wide, target = (heads + h) * wide;
                for (long c = 0; c < wide; c += LANES)
                    store(grad_rows + row + c, all(at_source) * load(vectors.attention + source + c) +
                                                   all(at_target) * load(vectors.attention + target + c));
                add(wide, at_source, rows + row, vectors.grad_attention + source);
                add(wide, at_target, rows + row, vectors.grad_attention + target);
            }
        links.each([&](long v, long h, long u, long link) {
            add(wide, links.weight[link], grad_y + v * wide, grad_rows + (h * graphs + u) * wide);
        });
        for (long c = 0; c < heads * wide; c += PANEL) {
            const float* right = grad_rows + c / wide * graphs * wide + c % wide;
            tune_standing(adam, kept, graphs, PANEL, x_tiles, BLOCK, graphs * BLOCK, right, wide, weight.at(c * kept));
        }
    }
};

// `SumsFirst`: n1 graphs to the S supports. Its output and the head are transposed, [features, supports]: so the weights
// are never multiplied from the side on which they would have to be.
struct SecondLayer {
    long wide, supports, columns, step;  // `columns`: S padded; `step` lies between two rows of z and grad_z
    LinkSoftmax links;
    Vectors vectors;
    Tuned weight;           // [wide, H wide]
    const float* x;         // [n1, wide]
    float* grad_x;          // [n1, wide]
    float* scorers;         // [2 H, wide], attention vectors times the weights of their head
    float* right;           // [S + 2 H, H wide], sums along links, and below them those that the scorers have as gradient
    float* sums;            // [H wide, columns]
    float *z, *grad_z;      // [wide, step]; in grad_z the attention vectors are further columns
    float* grad_sums;       // [S, H wide]

    INLINE void forward(const float* keep) {
        const long heads = links.heads, inputs = heads * wide;
        for (long h = 0; h < heads; ++h) {
            float* own = scorers + h * wide;
            many_rows(2, wide, wide, vectors.attention + h * wide, inputs, 1, weight.weight + h * wide, inputs, own, inputs);
            for (long u = 0; u < links.sources; ++u) links.as_source[u * heads + h] = dot(wide, own, x + u * wide);
            for (long v = 0; v < supports; ++v) links.as_target[v * heads + h] = dot(wide, own + inputs, x + v * wide);
        }
        links.forward(keep, supports);
        std::memset(right, 0, sizeof(float) * supports * inputs);
        links.each([&](long v, long h, long u, long link) {
            add(wide, links.weight[link], x + u * wide, right + v * inputs + h * wide);
        });
        transpose(supports, inputs, right, inputs, sums, columns);
        many_rows(wide, inputs, columns, weight.weight, inputs, 1, sums, columns, z, step);
        for (long r = 0; r < wide; ++r)
            for (long c = 0; c < columns; c += LANES) store(z + r * step + c, load(z + r * step + c) + all(vectors.bias[r]));
    }

    INLINE void backward(const float* keep, const Adam& adam) {
        const long heads = links.heads, inputs = heads * wide;
        for (long r = 0; r < wide; ++r) {
            Lanes total{};
            for (long c = 0; c < columns; c += LANES) total += load(grad_z + r * step + c);
            vectors.grad_bias[r] = sum(total);
        }
        transpose(2 * heads, wide, vectors.attention, wide, grad_z + supports, step);
        few_rows(supports, wide, inputs, grad_z, step, weight.weight, inputs, grad_sums, inputs);
        links.each([&](long v, long h, long u, long link) {
            links.grad_weight[link] = dot(wide, grad_sums + v * inputs + h * wide, x + u * wide);
        });
        links.backward(keep, supports);
        float* below = right + supports * inputs;
        std::memset(below, 0, sizeof(float) * 2 * heads * inputs);
        for (long h = 0; h < heads; ++h) {
            float *of_source = below + h * inputs + h * wide, *of_target = of_source + heads * inputs;
            for (long u = 0; u < links.sources; ++u) {
                const float at_source = links.grad_as_source[u * heads + h], at_target = links.grad_as_target[u * heads + h];
                add(wide, at_source, x + u * wide, of_source);
                add(wide, at_target, x + u * wide, of_target);
                if (h == 0) std::memset(grad_x + u * wide, 0, sizeof(float) * wide);
                add(wide, at_source, scorers + h * wide, grad_x + u * wide);
                add(wide, at_target, scorers + (heads + h) * wide, grad_x + u * wide);
            }
            for (long r = 0; r < wide; ++r) {
                const float* own = weight.weight + r * inputs + h * wide;
                vectors.grad_attention[h * wide + r] = dot(wide, of_source, own);
                vectors.grad_attention[(heads + h) * wide + r] = dot(wide, of_target, own);
            }
        }
        links.each([&](long v, long h, long u, long link) {
            add(wide, links.weight[link], grad_sums + v * inputs + h * wide, grad_x + u * wide);
        });
        tune_lying(adam, wide, supports + 2 * heads, inputs, grad_z, step, right, inputs, weight);
    }
};

// `out(dropout(ReLU(hidden(z))))` and the mean cross-entropy of the supports.
struct Head {
    long wide, hidden, classes, supports, columns, step;
    Tuned weight;                                                     // [hidden, wide]
    float *hidden_bias, *out_weight, *out_bias;                       // out: [classes, hidden]
    float *grad_hidden_bias, *grad_out_weight, *grad_out_bias;
    const int64_t* labels;
    float *h, *keep, *grad_h;  // [hidden, columns]
    float* error;              // [classes, columns]
    float* z_rows;             // [S, wide]

    // z [wide, step] to the gradient at it.
    INLINE void backward(const float* mask, const float* z, float* grad_z, const Adam& adam) {
        transpose(wide, supports, z, step, z_rows, wide);
        transpose(supports, hidden, mask, hidden, keep, columns);
        many_rows(hidden, wide, columns, weight.weight, wide, 1, z, step, h, columns);
        for (long r = 0; r < hidden; ++r)
            for (long i = r * columns; i < (r + 1) * columns; ++i) {
                const float value = h[i] + hidden_bias[r];
                h[i] = value > 0 ? value * keep[i] : 0;
            }
        many_rows(classes, hidden, columns, out_weight, hidden, 1, h, columns, error, columns);
        softmax();
        for (long r = 0; r < classes; ++r) {
            const float* own = error + r * columns;
            Lanes total{};
            for (long c = 0; c < columns; c += LANES) total += load(own + c);
            grad_out_bias[r] = sum(total);
            for (long j = 0; j < hidden; ++j) {
                Lanes along{};
                for (long c = 0; c < columns; c += LANES) along += load(own + c) * load(h + j * columns + c);
                grad_out_weight[r * hidden + j] = sum(along);
            }
        }
        many_rows(hidden, classes, columns, out_weight, 1, hidden, error, columns, grad_h, columns);
        for (long i = 0; i < hidden * columns; ++i) grad_h[i] = h[i] > 0 ? grad_h[i] * keep[i] : 0;
        for (long r = 0; r < hidden; ++r) {
            Lanes total{};
            for (long c = 0; c < columns; c += LANES) total += load(grad_h + r * columns + c);
            grad_hidden_bias[r] = sum(total);
        }
        many_rows(wide, hidden, columns, weight.weight, 1, wide, grad_h, columns, grad_z, step);
        tune_lying(adam, hidden, supports, wide, grad_h, columns, z_rows, wide, weight);
    }

    // Scores without their bias to the gradient at them; what pads the supports gets none.
    INLINE void softmax() {
        for (long r = 0; r < classes; ++r)
            for (long s = 0; s < columns; ++s) error[r * columns + s] += out_bias[r];
        for (long s = 0; s < columns; ++s) {
            float most = -INFINITY, total = 0;
            for (long r = 0; r < classes; ++r) most = error[r * columns + s] > most ? error[r * columns + s] : most;
            for (long r = 0; r < classes; ++r) total += error[r * columns + s] = std::exp(error[r * columns + s] - most);
            for (long r = 0; r < classes; ++r) {
                const float wanted = s < supports && labels[s] == r ? 1 : 0;
                error[r * columns + s] = s < supports ? (error[r * columns + s] / total - wanted) / supports : 0;
            }
        }
    }
};
