// What a graph network does with rows besides multiplying them: norms, sums over neighbours, dropout; and back.
//
// Rows are `[n, d]`, one after the other, `d` a multiple of LANES. What ends in `_back` adds to the gradients of
// parameters and overwrites a gradient of rows with that of what the rows came from.
#pragma once
#include "products.h"
#include <cstdint>

namespace fsgc {

constexpr float EPS = 1e-5f;  // added to variances

FSGC_INLINE Lanes positive(Lanes x) { return x > 0.0f ? x : Lanes{}; }

FSGC_INLINE Lanes inverse_root(Lanes x) {
    Lanes result;
    for (int i = 0; i < LANES; ++i) result[i] = 1.0f / __builtin_sqrtf(x[i]);
    return result;
}

FSGC_INLINE float total(Lanes x) {
    float part[LANES];
    std::memcpy(part, &x, sizeof part);
    for (int width = LANES / 2; width; width /= 2)
        for (int i = 0; i < width; ++i) part[i] += part[i + width];
    return part[0];
}

FSGC_INLINE void add_to(float* to, Lanes value) { store(to, load(to) + value); }

// Column sums of x [n, d], added to `sum`.
FSGC_INLINE void add_column_sums(long n, int d, const float* x, float* sum) {
    for (int c = 0; c < d; c += LANES) {
        Lanes each = load(sum + c);
        for (long r = 0; r < n; ++r) each += load(x + r * d + c);
        store(sum + c, each);
    }
}

struct GraphNorm {  // w (x - a mean) / std + b over the nodes of a graph (Cai et al. 2021)
    float *weight, *bias, *mean_scale;
};

struct ColumnStatistics {
    Lanes mean, shift, scale;  // of a column: its mean, a · mean, 1 / std around that
};

FSGC_INLINE ColumnStatistics statistics(long n, int d, const float* x, const float* mean_scale) {
    Lanes sum{}, squares{};
    for (long r = 0; r < n; ++r) sum += load(x + r * d);
    const Lanes mean = sum / static_cast<float>(n), shift = load(mean_scale) * mean;
    for (long r = 0; r < n; ++r) {
        const Lanes centred = load(x + r * d) - shift;
        squares += centred * centred;
    }
    return {mean, shift, inverse_root(squares / static_cast<float>(n) + EPS)};
}

// y = relu(GraphNorm(x)) of the n nodes of one graph.
FSGC_INLINE void graph_norm_relu(long n, int d, const float* x, const GraphNorm& norm, float* y) {
    for (int c = 0; c < d; c += LANES) {
        const ColumnStatistics of = statistics(n, d, x + c, norm.mean_scale + c);
        const Lanes scale = of.scale * load(norm.weight + c), bias = load(norm.bias + c);
        for (long r = 0; r < n; ++r) store(y + r * d + c, positive((load(x + r * d + c) - of.shift) * scale + bias));
    }
}

// The gradient at y to that at x, in place.
FSGC_INLINE void graph_norm_relu_back(long n, int d, const float* x, const GraphNorm& norm, const GraphNorm& grads, float* grad) {
    for (int c = 0; c < d; c += LANES) {
        const ColumnStatistics of = statistics(n, d, x + c, norm.mean_scale + c);
        const Lanes weight = load(norm.weight + c), bias = load(norm.bias + c), a = load(norm.mean_scale + c);
        Lanes at_bias{}, at_weight{}, normed_sum{};
        for (long r = 0; r < n; ++r) {
            const Lanes normed = (load(x + r * d + c) - of.shift) * of.scale;
            const Lanes g = normed * weight + bias > 0.0f ? load(grad + r * d + c) : Lanes{};
            store(grad + r * d + c, g);
            at_bias += g;
            at_weight += g * normed;
            normed_sum += normed;
        }
        const float count = static_cast<float>(n);
        const Lanes along = weight * at_weight / count;  // what changes the variance
        const Lanes centred_sum = of.scale * (weight * at_bias - along * normed_sum);
        add_to(grads.bias + c, at_bias);
        add_to(grads.weight + c, at_weight);
        add_to(grads.mean_scale + c, -of.mean * centred_sum);
        const Lanes by_mean = a * centred_sum / count;
        for (long r = 0; r < n; ++r) {
            const Lanes normed = (load(x + r * d + c) - of.shift) * of.scale;
            store(grad + r * d + c, of.scale * (weight * load(grad + r * d + c) - along * normed) - by_mean);
        }
    }
}

struct RowStatistics {
    float mean, scale;
};

FSGC_INLINE RowStatistics row_statistics(int d, const float* x) {
    Lanes sum{}, squares{};
    for (int c = 0; c < d; c += LANES) sum += load(x + c);
    const float mean = total(sum) / static_cast<float>(d);
    for (int c = 0; c < d; c += LANES) {
        const Lanes centred = load(x + c) - mean;
        squares += centred * centred;
    }
    return {mean, 1.0f / __builtin_sqrtf(total(squares) / static_cast<float>(d) + EPS)};
}

// y = relu(LayerNorm(x)) of one row.
FSGC_INLINE void layer_norm_relu(int d, const float* x, const float* weight, const float* bias, float* y) {
    const RowStatistics of = row_statistics(d, x);
    for (int c = 0; c < d; c += LANES)
        store(y + c, positive((load(x + c) - of.mean) * of.scale * load(weight + c) + load(bias + c)));
}

// The gradient at y, a row, to that at x, into `at_x`.
FSGC_INLINE void layer_norm_relu_back(int d, const float* x, const float* weight, const float* bias, float* at_weight, float* at_bias, const float* grad, float* at_x) {
    const RowStatistics of = row_statistics(d, x);
    Lanes sum{}, along{};
    for (int c = 0; c < d; c += LANES) {
        const Lanes normed = (load(x + c) - of.mean) * of.scale, w = load(weight + c);
        const Lanes g = normed * w + load(bias + c) > 0.0f ? load(grad + c) : Lanes{};
        add_to(at_weight + c, g * normed);
        add_to(at_bias + c, g);
        store(at_x + c, g * w);
        sum += g * w;
        along += g * w * normed;
    }
    const float mean = total(sum) / static_cast<float>(d), slope = total(along) / static_cast<float>(d);
    for (int c = 0; c < d; c += LANES) {
        const Lanes normed = (load(x + c) - of.mean) * of.scale;
        store(at_x + c, of.scale * (load(at_x + c) - mean - normed * slope));
    }
}

// y_v = own · x_v + the sum of x_u over the neighbours u of v, for the n nodes of one graph. `pointer` and `source` are
// those of the graph; `first` is the number that they give to its first node.
FSGC_INLINE void mix(long n, int d, const float* x, float own, const int64_t* pointer, const int64_t* source, int64_t first, float* y) {
    for (long v = 0; v < n; ++v)
        for (int c = 0; c < d; c += LANES) {
            Lanes sum = own * load(x + v * d + c);
            for (int64_t edge = pointer[v]; edge < pointer[v + 1]; ++edge) sum += load(x + (source[edge] - first) * d + c);
            store(y + v * d + c, sum);
        }
}

struct Dropout {  // `levels` is 0 where nothing is dropped
    uint64_t seed;
    int levels, dropped;  // of 256 or 65536 equally likely draws so many are dropped
    float scale;
};

FSGC_INLINE uint64_t hashed(uint64_t x) {  // splitmix64: a counter to 64 random bits
    x += 0x9E3779B97F4A7C15ull;
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ull;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EBull;
    return x ^ (x >> 31);
}

// The factors of row number `row`, 0 or the scale; the same whenever they are asked for.
FSGC_INLINE void dropout_factors(const Dropout& dropout, uint64_t row, int d, float* factors) {
    constexpr int BYTES = 8;
    uint64_t words[64];
    const int per_word = dropout.levels == 256 ? BYTES : BYTES / 2;
    for (int begin = 0; begin < d; begin += 64 * per_word) {
        const int columns = d - begin < 64 * per_word ? d - begin : 64 * per_word, count = columns / per_word;
        const uint64_t counter = dropout.seed + row * static_cast<uint64_t>(d) + static_cast<uint64_t>(begin);
        for (int i = 0; i < count; ++i) words[i] = hashed(counter + static_cast<uint64_t>(i));
        if (dropout.levels == 256) {
            uint8_t draws[64 * BYTES];
            std::memcpy(draws, words, sizeof(uint64_t) * count);
            for (int c = 0; c < columns; ++c) factors[begin + c] = draws[c] >= dropout.dropped ? dropout.scale : 0.0f;
        } else {
            uint16_t draws[64 * BYTES / 2];
            std::memcpy(draws, words, sizeof(uint64_t) * count);
            for (int c = 0; c < columns; ++c) factors[begin + c] = draws[c] >= dropout.dropped ? dropout.scale : 0.0f;
        }
    }
}

}  // namespace fsgc
