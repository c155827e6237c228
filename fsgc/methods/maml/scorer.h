// From pooled graphs to logits and their cross-entropy, with first and second derivatives; as scorer.py.
#pragma once
#include <cmath>

#include "read_out.h"
#include "weight_products.h"

namespace maml {

struct Scored {
    float *embedded, *hidden;                 // what enters the head's layers, [g, d]
    float* share;                             // the softmax of the logits, [g, N filled up]; as a tangent that of the logits
    float *at_embedded, *at_hidden, *error;  // gradients at the results of the three layers
    const float* ones;                        // what the embedder's last bias is multiplied by, [g]; nothing for ones
};

// The loss is the mean over `graphs` graphs, `per_class` of each class one after the other.
struct Task {
    int graphs, per_class;
};

static void relu_in_place(long count, float* x) {
    for (long i = 0; i < count; i += LANES) store(x + i, relu(load(x + i)));
}

static void past_relu_in_place(long count, const float* result, float* x) {
    for (long i = 0; i < count; i += LANES) store(x + i, past_relu(load(result + i), load(x + i)));
}

// y = x w + the row below w, times its scales.
inline void affine(int rows, int d, int columns, const float* x, const float* w, const float* scales, float* y) {
    repeat(rows, columns, w + static_cast<long>(d) * columns, scales, y);
    multiply_add(rows, d, columns, x, d, w, columns, y, columns);
}

// Pooled graphs to the logits, which stand in `at.share`.
inline void score(int graphs, const Shape& shape, const Weights& weights, const Factors& factors, const float* pooled, const Scored& at) {
    const int d = shape.width;
    affine(graphs, d, d, pooled, weights.embed, at.ones, at.embedded);
    affine(graphs, d, d, at.embedded, weights.hidden, nullptr, at.hidden);
    relu_in_place(static_cast<long>(graphs) * d, at.hidden);
    affine(graphs, d, shape.scores(), at.hidden, factors.scores, nullptr, at.share);
}

// The logits in `at.share` to their softmax, and the gradient of the loss at them, `at.error`.
inline void cross_entropy(const Block& block, const Shape& shape, const Task& task, const Scored& at) {
    for (int g = 0; g < block.graphs; ++g) {
        float *share = at.share + g * shape.scores(), *error = at.error + g * shape.scores();
        float largest = share[0], sum = 0.0f;
        for (int i = 1; i < shape.way; ++i) largest = share[i] > largest ? share[i] : largest;
        for (int i = 0; i < shape.way; ++i) sum += share[i] = std::exp(share[i] - largest);
        const int label = (block.first_graph + g) / task.per_class;
        for (int i = 0; i < shape.scores(); ++i) {
            share[i] = i < shape.way ? share[i] / sum : 0.0f;
            error[i] = (share[i] - (i == label ? 1.0f : 0.0f)) / static_cast<float>(task.graphs);
        }
    }
}

// The tangent of that gradient, `by.error`, for that of the logits in `by.share`.
inline void cross_entropy_push(int graphs, const Shape& shape, const Task& task, const Scored& at, const Scored& by) {
    for (int g = 0; g < graphs; ++g) {
        const float *share = at.share + g * shape.scores(), *logits = by.share + g * shape.scores();
        float mean = 0.0f;
        for (int i = 0; i < shape.way; ++i) mean += share[i] * logits[i];
        for (int i = 0; i < shape.scores(); ++i)
            by.error[g * shape.scores() + i] = share[i] * (logits[i] - mean) / static_cast<float>(task.graphs);
    }
}

// Adds xᵀ g, and below it the sum of the rows of g, times their scales.
inline void add_layer(int rows, int d, int columns, const float* x, const float* g, const float* scales, float* found) {
    adjoint_add(rows, d, columns, x, d, g, columns, found, columns);
    add_rows(rows, columns, g, scales, found + static_cast<long>(d) * columns);
}

// `at.error` to the gradient at the pooled graphs; adds those of the three layers to `sums`.
inline void score_backward(int graphs, const Shape& shape, const Factors& factors, const Read& read, const Scored& at, const Sums& sums) {
    const int d = shape.width, scores = shape.scores();
    multiply(graphs, shape.way, d, at.error, scores, factors.scores_back, d, at.at_hidden, d);
    past_relu_in_place(static_cast<long>(graphs) * d, at.hidden, at.at_hidden);
    multiply(graphs, d, d, at.at_hidden, d, factors.hidden_back, d, at.at_embedded, d);
    multiply(graphs, d, d, at.at_embedded, d, factors.embed_back, d, read.at_pooled, d);
    add_layer(graphs, d, scores, at.hidden, at.error, nullptr, sums.scores);
    add_layer(graphs, d, d, at.embedded, at.at_hidden, nullptr, sums.hidden);
    add_layer(graphs, d, d, read.pooled, at.at_embedded, at.ones, sums.embed);
}

// Tangents of the pooled graphs and of the weights to those of the logits, in `by.share`.
inline void score_push(int graphs, const Shape& shape, const Weights& weights, const Factors& factors, const Weights& steps, const Factors& d_factors, const Read& read, const Read& by_read, const Scored& at, const Scored& by) {
    const int d = shape.width, scores = shape.scores();
    affine(graphs, d, d, read.pooled, steps.embed, at.ones, by.embedded);
    multiply_add(graphs, d, d, by_read.pooled, d, weights.embed, d, by.embedded, d);
    affine(graphs, d, d, at.embedded, steps.hidden, nullptr, by.hidden);
    multiply_add(graphs, d, d, by.embedded, d, weights.hidden, d, by.hidden, d);
    past_relu_in_place(static_cast<long>(graphs) * d, at.hidden, by.hidden);
    affine(graphs, d, scores, at.hidden, d_factors.scores, nullptr, by.share);
    multiply_add(graphs, d, scores, by.hidden, d, factors.scores, scores, by.share, scores);
}

// `by.error` to the tangent of the gradient at the pooled graphs; adds those of the three layers to `sums`.
inline void score_push_back(int graphs, const Shape& shape, const Factors& factors, const Factors& d_factors, const Read& read, const Read& by_read, const Scored& at, const Scored& by, const Sums& sums) {
    const int d = shape.width, scores = shape.scores();
    multiply(graphs, shape.way, d, by.error, scores, factors.scores_back, d, by.at_hidden, d);
    multiply_add(graphs, shape.way, d, at.error, scores, d_factors.scores_back, d, by.at_hidden, d);
    past_relu_in_place(static_cast<long>(graphs) * d, at.hidden, by.at_hidden);
    multiply(graphs, d, d, by.at_hidden, d, factors.hidden_back, d, by.at_embedded, d);
    multiply_add(graphs, d, d, at.at_hidden, d, d_factors.hidden_back, d, by.at_embedded, d);
    multiply(graphs, d, d, by.at_embedded, d, factors.embed_back, d, by_read.at_pooled, d);
    multiply_add(graphs, d, d, at.at_embedded, d, d_factors.embed_back, d, by_read.at_pooled, d);
    add_layer(graphs, d, scores, at.hidden, by.error, nullptr, sums.scores);
    adjoint_add(graphs, d, scores, by.hidden, d, at.error, scores, sums.scores, scores);
    add_layer(graphs, d, d, at.embedded, by.at_hidden, nullptr, sums.hidden);
    adjoint_add(graphs, d, d, by.embedded, d, at.at_hidden, d, sums.hidden, d);
    add_layer(graphs, d, d, read.pooled, by.at_embedded, at.ones, sums.embed);
    adjoint_add(graphs, d, d, by_read.pooled, d, at.at_embedded, d, sums.embed, d);
}

}  // namespace maml
