// Where the weights of an episode lie in its vector, and products of them; as flat_weights.py and weight_products.py.
//
// With two convolutions or more, `hops[i]` are the products of the last matrix of a convolution with the first of the
// next, beside those with its part of jumping knowledge: [d+1, 2·d], of the last convolution [d+1, d].
#pragma once
#include "rows.h"

namespace maml {

constexpr int MAX_CONVS = 8;

struct Shape {
    int width, features, convs, way;
    bool mean, learnable_eps;

    int scores() const { return (way + LANES - 1) / LANES * LANES; }  // the columns that logits are filled up to
    int hop(int conv) const { return conv + 1 < convs ? 2 * width : width; }
    int jump_of(int conv) const { return hop(conv) - width; }  // where in a hop jumping knowledge begins
};

// The parts of a vector of weights, of a gradient or of a direction.
template <typename Number>
struct Pieces {
    Number *eps, *first, *norms[MAX_CONVS], *lasts[MAX_CONVS], *nexts[MAX_CONVS], *jump, *read, *embed, *hidden, *scores, *end;

    Pieces(const Shape& shape, Number* vector) {
        const long d = shape.width;
        auto cut = [&vector](long count) {
            Number* start = vector;
            vector += count;
            return start;
        };
        eps = cut(shape.convs);
        first = cut(shape.features * d);
        for (int i = 0; i < shape.convs; ++i) norms[i] = cut(4 * d);
        for (int i = 0; i < shape.convs; ++i) lasts[i] = cut((d + 1) * d);
        for (int i = 0; i < shape.convs; ++i) nexts[i] = cut(d * shape.hop(i));
        jump = cut((shape.features + 1) * d);
        read = cut(2 * d);
        embed = cut((d + 1) * d);
        hidden = cut((d + 1) * d);
        scores = cut((d + 1) * shape.way);
        end = vector;
    }
};

using Weights = Pieces<const float>;

// What rows are multiplied by, forwards and backwards; or tangents of it.
struct Factors {
    float *first, *hops[MAX_CONVS], *hops_back[MAX_CONVS], *jump, *embed_back, *hidden_back, *scores, *scores_back;

    Factors(const Shape& shape, Arena& arena) {
        const long d = shape.width;
        first = arena.take(2 * shape.features * d);
        for (int i = 0; i < shape.convs; ++i) {
            hops[i] = arena.take((d + 1) * shape.hop(i));
            hops_back[i] = arena.take(d * shape.hop(i));
        }
        jump = arena.take((shape.features + 1) * d);
        embed_back = arena.take(d * d);
        hidden_back = arena.take(d * d);
        scores = arena.take((d + 1) * shape.scores());
        scores_back = arena.take(shape.way * d);
    }
};

// Gradients at the factors, summed over blocks, and of the weights that rows are not multiplied by; or tangents of them.
struct Sums {
    float *eps, *first, *norms[MAX_CONVS], *hops[MAX_CONVS], *jump, *read, *embed, *hidden, *scores;

    Sums(const Shape& shape, Arena& arena) {
        const long d = shape.width;
        auto zeros = [&arena](long count) {
            float* start = arena.take(count);
            std::memset(start, 0, 4 * count);
            return start;
        };
        eps = zeros(shape.convs);
        first = zeros(2 * shape.features * d);
        for (int i = 0; i < shape.convs; ++i) norms[i] = zeros(4 * d), hops[i] = zeros((d + 1) * shape.hop(i));
        jump = zeros((shape.features + 1) * d);
        read = zeros(2 * d);
        embed = zeros((d + 1) * d);
        hidden = zeros((d + 1) * d);
        scores = zeros((d + 1) * shape.scores());
    }
};

// The mean over columns taken off each row: what LayerNorm does to rows, done to what makes them.
static void centre(int rows, int d, float* x, long x_step) {
    for (int r = 0; r < rows; ++r) {
        Lanes sum{};
        for (int c = 0; c < d; c += LANES) sum += load(x + r * x_step + c);
        const float mean = sum_of(sum) / static_cast<float>(d);
        for (int c = 0; c < d; c += LANES) store(x + r * x_step + c, load(x + r * x_step + c) - mean);
    }
}

// What is the same for weights and for tangents, once `first` and `hops` hold their products.
inline void complete(const Shape& shape, const Weights& weights, const Factors& factors) {
    const int d = shape.width, features = shape.features;
    std::memcpy(factors.jump, weights.jump, 4 * (features + 1) * d);
    for (int i = 0; i < shape.convs; ++i) {
        const int step = shape.hop(i), jump = shape.jump_of(i);
        add_scaled(d, 1.0f, factors.hops[i] + d * step + jump, factors.jump + features * d);
        centre(d, d, factors.hops[i] + jump, step);
        transpose(d, step, factors.hops[i], step, factors.hops_back[i], d);
    }
    centre(features + 1, d, factors.jump, d);
    transpose(d, d, weights.embed, d, factors.embed_back, d);
    transpose(d, d, weights.hidden, d, factors.hidden_back, d);
    transpose(d, shape.way, weights.scores, shape.way, factors.scores_back, d);
    std::memset(factors.scores, 0, 4 * (d + 1) * shape.scores());
    for (int r = 0; r <= d; ++r)
        std::memcpy(factors.scores + r * shape.scores(), weights.scores + r * shape.way, 4 * shape.way);
}

inline void scaled(long count, float scale, const float* x, float* y) {
    std::memset(y, 0, 4 * count);
    add_scaled(count, scale, x, y);
}

// The factors of weights.
inline void multiply_weights(const Shape& shape, const Weights& weights, const Factors& factors) {
    const int d = shape.width;
    const long first = static_cast<long>(shape.features) * d;
    scaled(first, 1.0f + weights.eps[0], weights.first, factors.first);
    std::memcpy(factors.first + first, weights.first, 4 * first);
    for (int i = 0; i < shape.convs; ++i) {
        const int step = shape.hop(i);
        multiply(d + 1, d, step, weights.lasts[i], d, weights.nexts[i], step, factors.hops[i], step);
    }
    complete(shape, weights, factors);
}

// Their tangents in a direction.
inline void multiply_weights_push(const Shape& shape, const Weights& weights, const Weights& steps, const Factors& factors) {
    const int d = shape.width;
    const long first = static_cast<long>(shape.features) * d;
    scaled(first, 1.0f + weights.eps[0], steps.first, factors.first);
    add_scaled(first, steps.eps[0], weights.first, factors.first);
    std::memcpy(factors.first + first, steps.first, 4 * first);
    for (int i = 0; i < shape.convs; ++i) {
        const int step = shape.hop(i);
        multiply(d + 1, d, step, steps.lasts[i], d, weights.nexts[i], step, factors.hops[i], step);
        multiply_add(d + 1, d, step, weights.lasts[i], d, steps.nexts[i], step, factors.hops[i], step);
    }
    complete(shape, steps, factors);
}

// lasts += hop nextᵀ and nexts += lastᵀ hop, for `hop` a gradient at the product of the two.
inline void factors_of_hop(int d, int step, const float* last, const float* next, const float* hop, float* to_last, float* to_next, Arena& arena) {
    const Arena::Mark mark = arena.mark();
    float* next_back = arena.take(static_cast<long>(step) * d);
    transpose(d, step, next, step, next_back, d);
    multiply_add(d + 1, step, d, hop, step, next_back, d, to_last, d);
    adjoint_add(d + 1, d, step, last, d, hop, step, to_next, step);
    arena.back_to(mark);
}

// From the sums to the gradient, a vector.
inline void gradient_of(const Shape& shape, const Weights& weights, const Sums& sums, float* vector, Arena& arena) {
    const int d = shape.width;
    const long first = static_cast<long>(shape.features) * d;
    const Pieces<float> found(shape, vector);
    std::memset(vector, 0, 4 * (found.end - vector));
    for (int i = 0; i < shape.convs; ++i) {
        const int step = shape.hop(i), jump = shape.jump_of(i);
        std::memcpy(sums.hops[i] + d * step + jump, sums.jump + first, 4 * d);  // all biases meet before LayerNorm
        centre(d + 1, d, sums.hops[i] + jump, step);
        factors_of_hop(d, step, weights.lasts[i], weights.nexts[i], sums.hops[i], found.lasts[i], found.nexts[i], arena);
        std::memcpy(found.norms[i], sums.norms[i], 4 * 4 * d);
    }
    centre(shape.features + 1, d, sums.jump, d);
    if (shape.learnable_eps) {
        std::memcpy(found.eps, sums.eps, 4 * shape.convs);
        found.eps[0] = dot(first, sums.first, weights.first);
    }
    std::memcpy(found.first, sums.first + first, 4 * first);
    add_scaled(first, 1.0f + weights.eps[0], sums.first, found.first);
    std::memcpy(found.jump, sums.jump, 4 * (first + d));
    std::memcpy(found.read, sums.read, 4 * 2 * d);
    std::memcpy(found.embed, sums.embed, 4 * (d + 1) * d);
    std::memcpy(found.hidden, sums.hidden, 4 * (d + 1) * d);
    for (int r = 0; r <= d; ++r)
        std::memcpy(found.scores + r * shape.way, sums.scores + r * shape.scores(), 4 * shape.way);
}

// From the sums and their tangents to the tangent of the gradient.
inline void gradient_push(const Shape& shape, const Weights& weights, const Weights& steps, const Sums& sums, const Sums& tangents, float* vector, Arena& arena) {
    gradient_of(shape, weights, tangents, vector, arena);
    const Pieces<float> found(shape, vector);
    const long first = static_cast<long>(shape.features) * shape.width;
    for (int i = 0; i < shape.convs; ++i)
        factors_of_hop(shape.width, shape.hop(i), steps.lasts[i], steps.nexts[i], sums.hops[i], found.lasts[i], found.nexts[i], arena);
    if (shape.learnable_eps) found.eps[0] += dot(first, sums.first, steps.first);
    add_scaled(first, steps.eps[0], sums.first, found.first);
}

}  // namespace maml
