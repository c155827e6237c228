// What a small change of the weights changes in a pass there and back: the Hessian times a direction, as in
// `curvature.py`. Which nodes are kept, which are largest, and on which side of zero a value is do not change.
#pragma once
#include "block_pass.h"

namespace fsgc {

struct LevelChange {
    const float* inputs;  // of u [n, width]; nothing at the first level
    float* rows;          // of y [n, width]
    float* gate;          // of g [n'] of the nodes kept
};

struct PassChange {
    LevelChange levels[MOST_LEVELS];
    float* hidden[HEAD];
    float* logits;
};

// The change of g from that of y, [n'].
FSGC_INLINE void gate_change(const Level& level, const EpisodeWeights& weights, const EpisodeWeights& direction, int place, const float* rows, float* out, Workspace& work) {
    const Nodes& nodes = level.nodes;
    const int width = weights.sizes.width;
    const float *score = weights.now + weights.at.score[place], *turned = direction.now + weights.at.score[place];
    const float bias = direction.now[weights.at.score_bias[place]];
    float *near = work.take<float>(nodes.count), *own = work.take<float>(nodes.count);
    for (int v = 0; v < nodes.count; ++v) {
        const float *y = level.rows + long(v) * width, *change = rows + long(v) * width;
        near[v] = dot(width, turned, y) + dot(width, score, change);
        own[v] = dot(width, turned + width, y) + dot(width, score + width, change);
    }
    for (int j = 0; j < level.after.count; ++j) {
        const int v = level.kept[j];
        out[j] = (1.0f - level.gate[j] * level.gate[j]) * (sum_around(nodes, near, v) + own[v] + bias);
    }
}

// The change of g · y, [n', width], and of its read-out, which is added to `total`.
FSGC_INLINE void read_out_change(const Level& level, const LevelChange& change, int graphs, int width, float* pooled, float* total) {
    for (int g = 0; g < graphs; ++g) {
        const int begin = level.after.graph[g], end = level.after.graph[g + 1];
        for (int c = 0; c < width; c += LANES) {
            const long at = 2L * g * width + c;
            const Lanes largest = load(level.read_out + at), mean = load(level.read_out + at + width);
            const Lanes shared = load(level.shared + long(g) * width + c);
            Lanes of_largest = {}, of_mean = {};
            for (int j = begin; j < end; ++j) {
                const long row = long(level.kept[j]) * width + c, here = long(j) * width + c;
                const Lanes x = level.gate[j] * load(change.rows + row) + change.gate[j] * load(level.rows + row);
                store(pooled + here, x);
                const Lanes weighted = level.after.weight[j] * x;
                of_mean += weighted;
                of_largest += load(level.pooled + here) == largest ? weighted : Lanes{};
            }
            of_largest /= shared < 1.0f ? all(1.0f) : shared;
            of_mean /= float(std::max(level.after.sizes[g], 1));
            add(total + at, leaky_back(of_largest, largest));
            add(total + at + width, leaky_back(of_mean, mean));
        }
    }
}

// How a change of the weights along `direction` changes the pass.
static void forward_change(const Block& block, const EpisodeWeights& weights, const EpisodeWeights& direction, const Pass& pass, PassChange& changes, Workspace& work) {
    const Sizes& sizes = weights.sizes;
    const Places& at = weights.at;
    const int width = sizes.width, graphs = block.graphs;
    float* total = changes.hidden[0] = work.zeros<float>(2L * graphs * width);
    const float* inputs = nullptr;
    for (int place = 0; place < sizes.levels; ++place) {
        const Level& level = pass.levels[place];
        LevelChange& change = changes.levels[place];
        const long count = level.nodes.count, after = level.after.count;
        change.inputs = inputs;
        change.rows = work.take<float>(count * width);
        linear(count, sizes.conv_in(place), width, level.inputs, direction.now + at.conv[place], direction.now + at.conv_bias[place], 1.0f, change.rows);
        if (inputs) add_product(count, width, width, inputs, weights.now + at.conv[place], change.rows);
        leaky_back(count * width, level.rows, change.rows);
        change.gate = work.take<float>(after);
        gate_change(level, weights, direction, place, change.rows, change.gate, work);
        float* pooled = work.take<float>(after * width);
        read_out_change(level, change, graphs, width, pooled, total);
        if (place + 1 == sizes.levels) break;
        float* means = work.take<float>(after * width);
        means_around(level.after, width, pooled, false, means);
        inputs = means;
    }
    for (int place = 0; place < HEAD; ++place) {
        const bool last = place + 1 == HEAD;
        const int in = sizes.head_in(place), out = sizes.head_out(place);
        float* result = work.take<float>(long(graphs) * out);
        linear(graphs, in, out, pass.hidden[place], direction.now + at.head[place], direction.now + at.head_bias[place], 1.0f, result);
        add_product(graphs, in, out, changes.hidden[place], weights.now + at.head[place], result);
        if (!last) leaky_back(long(graphs) * out, pass.hidden[place + 1], result);
        (last ? changes.logits : changes.hidden[place + 1]) = result;
    }
}

// How the gradients of a level change, given the change of that by the pooled rows: the change of that by z, [n, width];
// those of the score's weights and of the biases are added to `weights.change`.
FSGC_INLINE float* level_back_change(const Level& level, const LevelChange& change, EpisodeWeights& weights, const EpisodeWeights& direction, int place, const float* pooled, Workspace& work) {
    const int width = weights.sizes.width;
    const Places& at = weights.at;
    const float *score = weights.now + at.score[place], *turned = direction.now + at.score[place];
    const Nodes& nodes = level.nodes;
    const LevelGrads& grads = level.grads;
    float *own = work.zeros<float>(nodes.count), *near = work.take<float>(nodes.count), bias = 0;
    float* rows = work.take<float>(long(nodes.count) * width);
    for (int j = 0; j < level.after.count; ++j) {
        const long row = long(level.kept[j]) * width, here = long(j) * width;
        const float g = level.gate[j];
        const float by_gate = dot(width, pooled + here, level.rows + row) + dot(width, grads.pooled + here, change.rows + row);
        bias += own[level.kept[j]] = by_gate * (1.0f - g * g) - 2.0f * g * change.gate[j] * grads.gate[j];
    }
    weights.change[at.score_bias[place]] += bias;
    sum_around_back(nodes, own, near);
    for (int c = 0; c < width; c += LANES) {
        Lanes of_near = {}, of_own = {}, of_bias = {};
        for (int v = 0; v < nodes.count; ++v) {
            const long row = long(v) * width + c;
            const Lanes y = load(level.rows + row), moved = load(change.rows + row);
            Lanes grad = near[v] * load(score + c) + own[v] * load(score + width + c);
            grad += grads.near[v] * load(turned + c) + grads.own[v] * load(turned + width + c);
            const int j = level.place[v];
            if (j >= 0) grad += level.gate[j] * load(pooled + long(j) * width + c) + change.gate[j] * load(grads.pooled + long(j) * width + c);
            grad = leaky_back(grad, y);
            store(rows + row, grad);
            of_near += near[v] * y + grads.near[v] * moved;
            of_own += own[v] * y + grads.own[v] * moved;
            of_bias += grad;
        }
        add(weights.change + at.score[place] + c, of_near);
        add(weights.change + at.score[place] + width + c, of_own);
        add(weights.change + at.conv_bias[place] + c, of_bias);
    }
    return rows;
}

// Add to `weights.change` how the gradient of `scale` times the summed cross-entropy changes along `direction`.
static void backward_change(const Block& block, EpisodeWeights& weights, const EpisodeWeights& direction, const Pass& pass, const PassChange& changes, int classes, float scale, Workspace& work) {
    const Sizes& sizes = weights.sizes;
    const Places& at = weights.at;
    const int width = sizes.width, graphs = block.graphs;
    float* grad = work.take<float>(long(graphs) * sizes.classes);
    cross_entropy_change(graphs, classes, sizes.classes, scale, pass.share, changes.logits, grad);
    for (int place = HEAD - 1; place >= 0; --place) {
        const int in = sizes.head_in(place), out = sizes.head_out(place);
        add_gradient(graphs, in, out, pass.hidden[place], grad, weights.change + at.head[place]);
        add_gradient(graphs, in, out, changes.hidden[place], pass.head_grads[place], weights.change + at.head[place]);
        add_rows(graphs, out, grad, weights.change + at.head_bias[place]);
        float* below = work.take<float>(long(graphs) * in);
        linear(graphs, out, in, grad, weights.head_turned[place], weights.nothing, 1.0f, below);
        add_product(graphs, out, in, pass.head_grads[place], direction.head_turned[place], below);
        if (place) leaky_back(long(graphs) * in, pass.hidden[place], below);
        grad = below;
    }
    float* above = nullptr;
    for (int place = sizes.levels - 1; place >= 0; --place) {
        const Level& level = pass.levels[place];
        const LevelChange& change = changes.levels[place];
        float* pooled = above ? above : work.zeros<float>(long(level.after.count) * width);
        read_out_back(level, graphs, width, grad, pooled);
        const float* rows = level_back_change(level, change, weights, direction, place, pooled, work);
        const int count = level.nodes.count;
        add_gradient(count, sizes.conv_in(place), width, level.inputs, rows, weights.change + at.conv[place]);
        if (!place) break;
        add_gradient(count, width, width, change.inputs, level.grads.rows, weights.change + at.conv[place]);
        float* inputs_grad = work.take<float>(long(count) * width);
        linear(count, width, width, rows, weights.conv_turned[place], weights.nothing, 1.0f, inputs_grad);
        add_product(count, width, width, level.grads.rows, direction.conv_turned[place], inputs_grad);
        above = work.take<float>(long(count) * width);
        means_around(level.nodes, width, inputs_grad, true, above);
    }
}

}  // namespace fsgc
