// A pass of the graphs of a block through the network and back; equations and names as in `network_pass.py`.
#pragma once
#include "cross_entropy.h"
#include "episode_weights.h"
#include "graph_block.h"

namespace fsgc {

constexpr float SLOPE = 0.1f;

struct LevelGrads {  // by what is between the weights of a level
    float* pooled;       // by g · y [n', width]
    float* gate;         // by g [n']
    float *near, *own;   // by y w₁ and y w₂ [n]
    float* rows;         // by z [n, width]
};

struct Level {
    Nodes nodes;
    const float* inputs;  // u [n, in]
    float* rows;          // y [n, width]
    Nodes after;          // the nodes kept
    int *kept, *place;
    float* gate;      // g [n'] of the nodes kept
    float* pooled;    // g · y [n', width] of these
    float* read_out;  // [graphs, 2 · width], max ‖ mean before the leaky ReLU
    float* shared;    // [graphs, width], how many nodes have the largest value
    LevelGrads grads; // after the way back
};

struct Pass {
    Level levels[MOST_LEVELS];
    float* hidden[HEAD];   // inputs of the layers of the head
    float* logits;         // [graphs, classes]
    float* share;          // their softmax, after the way back
    const float* head_grads[HEAD];  // by the results of the layers, before the leaky ReLU, after the way back
};

// Gates of all nodes, g = tanh(A (y w₁) + y w₂ + c).
FSGC_INLINE void gates_of(const Nodes& nodes, int width, const float* rows, const float* score, float bias, float* near, float* gate) {
    for (int v = 0; v < nodes.count; ++v) {
        near[v] = dot(width, rows + long(v) * width, score);
        gate[v] = dot(width, rows + long(v) * width, score + width);
    }
    for (int v = 0; v < nodes.count; ++v) gate[v] += sum_around(nodes, near, v) + bias;
    hyperbolic_tangent(nodes.count, gate);
}

// The rows of the nodes kept, and their read-out, whose leaky ReLU is added to `total`.
FSGC_INLINE void read_out(const Level& level, int graphs, int width, float* total) {
    for (int g = 0; g < graphs; ++g) {
        const int begin = level.after.graph[g], end = level.after.graph[g + 1];
        for (int c = 0; c < width; c += LANES) {
            Lanes largest = all(-HUGE_VALF), sum = {}, shared = {};
            for (int j = begin; j < end; ++j) {
                const Lanes x = level.gate[j] * load(level.rows + long(level.kept[j]) * width + c);
                store(level.pooled + long(j) * width + c, x);
                const float weight = level.after.weight[j];
                shared = x > largest ? all(weight) : (x == largest ? shared + weight : shared);
                largest = x > largest ? x : largest;
                sum += weight * x;
            }
            if (begin == end) largest = Lanes{};
            const Lanes mean = sum / float(std::max(level.after.sizes[g], 1));
            const long at = 2L * g * width + c;
            store(level.shared + long(g) * width + c, shared);
            store(level.read_out + at, largest);
            store(level.read_out + at + width, mean);
            add(total + at, leaky(largest, SLOPE));
            add(total + at + width, leaky(mean, SLOPE));
        }
    }
}

static void forward(const Block& block, const EpisodeWeights& weights, float ratio, Pass& pass, Workspace& work) {
    const Sizes& sizes = weights.sizes;
    const int width = sizes.width, graphs = block.graphs;
    Nodes nodes = block.nodes;
    const float* inputs = block.inputs;
    float* total = pass.hidden[0] = work.zeros<float>(2L * graphs * width);
    for (int place = 0; place < sizes.levels; ++place) {
        Level& level = pass.levels[place];
        level.nodes = nodes;
        level.inputs = inputs;
        level.rows = work.take<float>(long(nodes.count) * width);
        linear(nodes.count, sizes.conv_in(place), width, inputs, weights.now + weights.at.conv[place],
               weights.now + weights.at.conv_bias[place], SLOPE, level.rows);
        float *gates = work.take<float>(nodes.count), *near = work.take<float>(nodes.count);
        gates_of(nodes, width, level.rows, weights.now + weights.at.score[place],
                 weights.now[weights.at.score_bias[place]], near, gates);
        nodes = level.after = pool(block, nodes, ratio, gates, level.kept, level.place, work);
        level.gate = work.take<float>(nodes.count);
        for (int j = 0; j < nodes.count; ++j) level.gate[j] = gates[level.kept[j]];
        level.pooled = work.take<float>(long(nodes.count) * width);
        level.read_out = work.take<float>(2L * graphs * width);
        level.shared = work.take<float>(long(graphs) * width);
        read_out(level, graphs, width, total);
        if (place + 1 == sizes.levels) break;
        float* means = work.take<float>(long(nodes.count) * width);
        means_around(nodes, width, level.pooled, false, means);
        inputs = means;
    }
    for (int place = 0; place < HEAD; ++place) {
        const bool last = place + 1 == HEAD;
        float* out = work.take<float>(long(graphs) * sizes.head_out(place));
        linear(graphs, sizes.head_in(place), sizes.head_out(place), pass.hidden[place],
               weights.now + weights.at.head[place], weights.now + weights.at.head_bias[place], last ? 1.0f : SLOPE, out);
        (last ? pass.logits : pass.hidden[place + 1]) = out;
    }
}

FSGC_INLINE Lanes leaky_back(Lanes grad, Lanes result) { return result > 0.0f ? grad : SLOPE * grad; }

// The same of many numbers, in their place.
FSGC_INLINE void leaky_back(long count, const float* result, float* grad) {
    for (long i = 0; i < count; i += LANES) store(grad + i, leaky_back(load(grad + i), load(result + i)));
}

// The gradient by the pooled rows, [n', width], added to what comes from above: that of the read-out.
FSGC_INLINE void read_out_back(const Level& level, int graphs, int width, const float* total_grad, float* pooled_grad) {
    for (int g = 0; g < graphs; ++g) {
        const int begin = level.after.graph[g], end = level.after.graph[g + 1];
        for (int c = 0; c < width; c += LANES) {
            const long at = 2L * g * width + c;
            const Lanes largest = load(level.read_out + at), shared = load(level.shared + long(g) * width + c);
            const Lanes of_largest = leaky_back(load(total_grad + at), largest) / (shared < 1.0f ? all(1.0f) : shared);
            const Lanes of_mean = leaky_back(load(total_grad + at + width), load(level.read_out + at + width)) / float(std::max(level.after.sizes[g], 1));
            for (int j = begin; j < end; ++j) {
                const long here = long(j) * width + c;
                const Lanes own = load(level.pooled + here) == largest ? of_mean + of_largest : of_mean;
                add(pooled_grad + here, level.after.weight[j] * own);
            }
        }
    }
}

// Where a gradient by the pooled rows leads to, but for what goes down to the level below: the other gradients of the
// level, and those of its score's weights and of its biases, which are added to `change` unless that is nothing.
FSGC_INLINE void level_back(Level& level, const EpisodeWeights& weights, int place, float* change, Workspace& work) {
    const int width = weights.sizes.width;
    const float* score = weights.now + weights.at.score[place];
    const Nodes& nodes = level.nodes;
    LevelGrads& grads = level.grads;
    float *own = grads.own = work.take<float>(nodes.count), *near = grads.near = work.take<float>(nodes.count), bias = 0;
    grads.gate = work.take<float>(level.after.count);
    grads.rows = work.take<float>(long(nodes.count) * width);
    memset(own, 0, nodes.count * sizeof(float));
    for (int j = 0; j < level.after.count; ++j) {
        grads.gate[j] = dot(width, grads.pooled + long(j) * width, level.rows + long(level.kept[j]) * width);
        bias += own[level.kept[j]] = grads.gate[j] * (1.0f - level.gate[j] * level.gate[j]);
    }
    sum_around_back(nodes, own, near);
    if (change) change[weights.at.score_bias[place]] += bias;
    constexpr int MANY = 2;  // vectors at a time: `width` is a multiple of 2 LANES
    for (int c = 0; c < width; c += MANY * LANES) {
        Lanes of_near[MANY] = {}, of_own[MANY] = {}, of_bias[MANY] = {};
        for (int v = 0; v < nodes.count; ++v)
            for (int i = 0; i < MANY; ++i) {
                const int column = c + i * LANES;
                const Lanes y = load(level.rows + long(v) * width + column);
                Lanes grad = near[v] * load(score + column) + own[v] * load(score + width + column);
                const int j = level.place[v];
                if (j >= 0) grad += level.gate[j] * load(grads.pooled + long(j) * width + column);
                grad = leaky_back(grad, y);
                store(grads.rows + long(v) * width + column, grad);
                of_near[i] += near[v] * y;
                of_own[i] += own[v] * y;
                of_bias[i] += grad;
            }
        for (int i = 0; change && i < MANY; ++i) {
            const int column = c + i * LANES;
            add(change + weights.at.score[place] + column, of_near[i]);
            add(change + weights.at.score[place] + width + column, of_own[i]);
            add(change + weights.at.conv_bias[place] + column, of_bias[i]);
        }
    }
}

// The way back, and the summed cross-entropy. The gradient of `scale` times it is added to `change`, in the form of
// `Places`, unless that is nothing.
static float backward(const Block& block, const EpisodeWeights& weights, Pass& pass, const int64_t* labels, int classes, float scale, float* change, Workspace& work) {
    const Sizes& sizes = weights.sizes;
    const int width = sizes.width, graphs = block.graphs;
    pass.share = work.take<float>(long(graphs) * sizes.classes);
    float* grad = work.take<float>(long(graphs) * sizes.classes);
    const float loss = cross_entropy(graphs, classes, sizes.classes, labels, scale, pass.logits, pass.share, grad);
    for (int place = HEAD - 1; place >= 0; --place) {
        const int in = sizes.head_in(place), out = sizes.head_out(place);
        pass.head_grads[place] = grad;
        if (change) {
            add_gradient(graphs, in, out, pass.hidden[place], grad, change + weights.at.head[place]);
            add_rows(graphs, out, grad, change + weights.at.head_bias[place]);
        }
        float* below = work.take<float>(long(graphs) * in);
        linear(graphs, out, in, grad, weights.head_turned[place], weights.nothing, 1.0f, below);
        if (place) leaky_back(long(graphs) * in, pass.hidden[place], below);
        grad = below;
    }
    float* above = nullptr;
    for (int place = sizes.levels - 1; place >= 0; --place) {
        Level& level = pass.levels[place];
        level.grads.pooled = above ? above : work.zeros<float>(long(level.after.count) * width);
        read_out_back(level, graphs, width, grad, level.grads.pooled);
        level_back(level, weights, place, change, work);
        const int count = level.nodes.count;
        if (change) add_gradient(count, sizes.conv_in(place), width, level.inputs, level.grads.rows, change + weights.at.conv[place]);
        if (!place) break;
        float* inputs_grad = work.take<float>(long(count) * width);
        linear(count, width, width, level.grads.rows, weights.conv_turned[place], weights.nothing, 1.0f, inputs_grad);
        above = work.take<float>(long(count) * width);
        means_around(level.nodes, width, inputs_grad, true, above);
    }
    return loss;
}

}  // namespace fsgc
