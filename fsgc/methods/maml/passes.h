// The passes of a network over a block of graphs: forwards, backwards, and the tangents of both; as episode_network.py
// and hessian.py, which say what the arrays mean.
//
// Graphs do not depend on each other, so a block goes through the whole network before the next one starts: its arrays
// stay in the second-level cache.
#pragma once
#include "inputs.h"
#include "norm_relu.h"
#include "read_out.h"
#include "scorer.h"
#include "weight_products.h"

namespace maml {

// What the passes over a block keep; or the tangents of that, where `rows` is not used.
struct Pass {
    Norm norms[MAX_CONVS];
    float *mixing[MAX_CONVS], *after[MAX_CONVS];  // of every convolution but the first, its rows before mixing; gradients
    float* rows[MAX_CONVS];                       // gradients before the norm
    Read read;
    Scored scored;

    Pass(const Shape& shape, const Block& block, Arena& arena) {
        const long d = shape.width, rows_size = block.rows * d, graphs_size = block.graphs * d;
        auto of_rows = [&] { return arena.take(rows_size); };
        auto of_graphs = [&] { return arena.take(graphs_size); };
        for (int i = 0; i < shape.convs; ++i) {
            norms[i] = {of_rows(), of_rows(), of_graphs(), of_graphs(), of_rows(), of_graphs(), of_graphs()};
            rows[i] = of_rows();
            mixing[i] = i ? of_rows() : nullptr;
            after[i] = i ? of_rows() : nullptr;
        }
        read = {of_rows(), arena.take(block.rows), of_rows(), arena.take(block.rows), of_graphs(), of_graphs()};
        const long scores = static_cast<long>(block.graphs) * shape.scores();
        scored = {of_graphs(), of_graphs(), arena.take(scores), of_graphs(), of_graphs(), arena.take(scores), nullptr};
        if (shape.mean) return;
        float* sizes = arena.take(block.graphs);
        for (int g = 0; g < block.graphs; ++g) sizes[g] = static_cast<float>(block.end(g) - block.begin(g));
        scored.ones = sizes;
    }
};

// The forward pass; logits stand in `at.scored.share`.
inline void forward(const Block& block, const Shape& shape, const Weights& weights, const Factors& factors, const Pass& at) {
    const int n = block.rows, d = shape.width, features = shape.features;
    mixed_inputs(block, features, d, factors.first, at.norms[0].unit);
    norm_forward(block, d, weights.norms[0], at.norms[0]);
    for (int i = 1; i < shape.convs; ++i) {
        const int step = shape.hop(i - 1);
        const float* hop = factors.hops[i - 1];
        repeat(n, d, hop + d * step, nullptr, at.mixing[i]);
        multiply_add(n, d, d, at.norms[i - 1].result, d, hop, step, at.mixing[i], d);
        mix(block, d, 1.0f + weights.eps[i], at.mixing[i], at.norms[i].unit);
        norm_forward(block, d, weights.norms[i], at.norms[i]);
    }
    plain_inputs(block, features, d, factors.jump, at.read.unit);
    for (int i = 0; i < shape.convs; ++i)
        multiply_add(n, d, d, at.norms[i].result, d, factors.hops[i] + shape.jump_of(i), shape.hop(i), at.read.unit, d);
    read_forward(block, d, shape.mean, weights.read, at.read);
    score(block.graphs, shape, weights, factors, at.read.pooled, at.scored);
}

// The backward pass from `at.scored.error`; adds to `sums`.
inline void backward(const Block& block, const Shape& shape, const Weights& weights, const Factors& factors, const Pass& at, const Sums& sums, Arena& arena) {
    const int n = block.rows, d = shape.width, features = shape.features;
    score_backward(block.graphs, shape, factors, at.read, at.scored, sums);
    read_backward(block, d, shape.mean, weights.read, at.read, sums.read);
    const float* total = at.read.grad;
    plain_inputs_back(block, features, d, total, sums.jump);
    for (int i = shape.convs - 1; i >= 0; --i) {
        const int step = shape.hop(i), jump = shape.jump_of(i);
        const Norm& norm = at.norms[i];
        adjoint_add(n, d, d, norm.result, d, total, d, sums.hops[i] + jump, step);
        multiply(n, d, d, total, d, factors.hops_back[i] + jump * d, d, norm.passed, d);
        if (jump) {  // what comes from the next convolution
            adjoint_add(n, d, d, norm.result, d, at.after[i + 1], d, sums.hops[i], step);
            add_rows(n, d, at.after[i + 1], nullptr, sums.hops[i] + d * step);
            multiply_add(n, d, d, at.after[i + 1], d, factors.hops_back[i], d, norm.passed, d);
        }
        norm_backward(block, d, weights.norms[i], norm, at.rows[i], sums.norms[i]);
        if (i) {
            mix(block, d, 1.0f + weights.eps[i], at.rows[i], at.after[i]);
            sums.eps[i] += dot(static_cast<long>(n) * d, at.rows[i], at.mixing[i]);
        }
    }
    mixed_inputs_back(block, features, d, at.rows[0], sums.first, arena);
}

// A point in the space of weights, or a direction there: the weights and what rows are multiplied by.
struct Point {
    Weights weights;
    Factors factors;
};

// The tangent of the forward pass in the direction `step`; tangents of logits stand in `by.scored.share`.
inline void forward_push(const Block& block, const Shape& shape, const Point& here, const Point& step, const Pass& at, const Pass& by) {
    const int n = block.rows, d = shape.width, features = shape.features;
    mixed_inputs(block, features, d, step.factors.first, by.norms[0].unit);
    norm_push(block, d, here.weights.norms[0], at.norms[0], step.weights.norms[0], by.norms[0]);
    for (int i = 1; i < shape.convs; ++i) {
        const int width = shape.hop(i - 1);
        repeat(n, d, step.factors.hops[i - 1] + d * width, nullptr, by.mixing[i]);
        multiply_add(n, d, d, by.norms[i - 1].result, d, here.factors.hops[i - 1], width, by.mixing[i], d);
        multiply_add(n, d, d, at.norms[i - 1].result, d, step.factors.hops[i - 1], width, by.mixing[i], d);
        mix(block, d, 1.0f + here.weights.eps[i], by.mixing[i], by.norms[i].unit);
        add_scaled(static_cast<long>(n) * d, step.weights.eps[i], at.mixing[i], by.norms[i].unit);
        norm_push(block, d, here.weights.norms[i], at.norms[i], step.weights.norms[i], by.norms[i]);
    }
    plain_inputs(block, features, d, step.factors.jump, by.read.unit);
    for (int i = 0; i < shape.convs; ++i) {
        const int width = shape.hop(i), jump = shape.jump_of(i);
        multiply_add(n, d, d, by.norms[i].result, d, here.factors.hops[i] + jump, width, by.read.unit, d);
        multiply_add(n, d, d, at.norms[i].result, d, step.factors.hops[i] + jump, width, by.read.unit, d);
    }
    read_push(block, d, shape.mean, here.weights.read, at.read, step.weights.read, by.read);
    score_push(block.graphs, shape, here.weights, here.factors, step.weights, step.factors, at.read, by.read, at.scored, by.scored);
}

// The tangent of the backward pass from `by.scored.error`; adds to `sums`.
inline void backward_push(const Block& block, const Shape& shape, const Point& here, const Point& step, const Pass& at, const Pass& by, const Sums& sums, Arena& arena) {
    const int n = block.rows, d = shape.width, features = shape.features;
    const long size = static_cast<long>(n) * d;
    score_push_back(block.graphs, shape, here.factors, step.factors, at.read, by.read, at.scored, by.scored, sums);
    read_push_back(block, d, shape.mean, here.weights.read, at.read, step.weights.read, by.read, sums.read);
    const float *total = at.read.grad, *d_total = by.read.grad;
    plain_inputs_back(block, features, d, d_total, sums.jump);
    for (int i = shape.convs - 1; i >= 0; --i) {
        const int width = shape.hop(i), jump = shape.jump_of(i);
        const float *hidden = at.norms[i].result, *d_hidden = by.norms[i].result;
        float* rows = by.norms[i].passed;
        adjoint_add(n, d, d, hidden, d, d_total, d, sums.hops[i] + jump, width);
        adjoint_add(n, d, d, d_hidden, d, total, d, sums.hops[i] + jump, width);
        multiply(n, d, d, d_total, d, here.factors.hops_back[i] + jump * d, d, rows, d);
        multiply_add(n, d, d, total, d, step.factors.hops_back[i] + jump * d, d, rows, d);
        if (jump) {  // what comes from the next convolution
            const float *after = at.after[i + 1], *d_after = by.after[i + 1];
            adjoint_add(n, d, d, hidden, d, d_after, d, sums.hops[i], width);
            adjoint_add(n, d, d, d_hidden, d, after, d, sums.hops[i], width);
            add_rows(n, d, d_after, nullptr, sums.hops[i] + d * width);
            multiply_add(n, d, d, d_after, d, here.factors.hops_back[i], d, rows, d);
            multiply_add(n, d, d, after, d, step.factors.hops_back[i], d, rows, d);
        }
        norm_push_back(block, d, here.weights.norms[i], at.norms[i], step.weights.norms[i], by.norms[i], sums.norms[i]);
        if (i) {
            mix(block, d, 1.0f + here.weights.eps[i], rows, by.after[i]);
            add_scaled(size, step.weights.eps[i], at.rows[i], by.after[i]);
            sums.eps[i] += dot(size, rows, at.mixing[i]) + dot(size, at.rows[i], by.mixing[i]);
        }
    }
    mixed_inputs_back(block, features, d, by.norms[0].passed, sums.first, arena);
}

}  // namespace maml
