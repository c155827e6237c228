// The steps of an episode of AS-MAML in training, one at a time, and the way back through each of them.
//
// The graphs go through the network in blocks, and only sums over them are kept: the way back through a step computes
// the pass again, in cache, where keeping it would take it to memory and back.
#include "../../native/processor.h"
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>
FSGC_FOR_PROCESSOR
#include "curvature_pass.h"
#include "episode_graphs.h"

namespace {

using namespace fsgc;

// The summed node information (`node_information` in network_pass.py) of the nodes that the last pooling keeps.
float node_information(const Level& level, int width, Workspace& work) {
    const Nodes& nodes = level.after;
    float *scale = work.take<float>(nodes.count), total_information = 0;
    for (int v = 0; v < nodes.count; ++v) {
        const float others = std::round(1.0f / nodes.share[v]) - 1.0f;
        scale[v] = others > 0 ? 1.0f / std::sqrt(others) : 0.0f;
    }
    for (int v = 0; v < nodes.count; ++v) {
        Lanes sizes = {};
        for (int c = 0; c < width; c += LANES) {
            Lanes around = {};
            for (int e = nodes.pointer[v]; e < nodes.pointer[v + 1]; ++e) {
                const int u = nodes.source[e];
                around += nodes.weight[u] * scale[u] * load(level.pooled + long(u) * width + c);
            }
            const Lanes apart = load(level.pooled + long(v) * width + c) - scale[v] * around;
            sizes += apart < 0.0f ? -apart : apart;
        }
        total_information += nodes.weight[v] * total(sizes);
    }
    return total_information;
}

}  // namespace

// The logits of the graphs, [graphs, classes].
extern "C" void score_graphs(const Task* task, float* logits) {
    Workspace& work = workspace();
    score(*task, EpisodeWeights(task->sizes(), task->start, work), work, logits);
}

// `base`, or zeros if that is nothing, plus `scale` times the gradient of the mean cross-entropy, to `moved`; the logits;
// and that cross-entropy and the average node information, to `measures`.
extern "C" void add_gradient_of(const Task* task, const float* base, float scale, float* moved, float* logits, float* measures) {
    Workspace& work = workspace();
    EpisodeWeights weights(task->sizes(), task->start, work);
    Pass pass;
    float loss = 0, information = 0, nodes = 0;
    for_blocks(*task, work, [&](const Block& block) {
        forward(block, weights, task->ratio, pass, work);
        give_logits(*task, block, pass, logits);
        loss += backward(block, weights, pass, task->labels + block.first - task->first, task->classes,
                         scale / float(task->graphs), weights.change, work);
        const Level& last = pass.levels[task->levels - 1];
        information += node_information(last, task->width, work);
        for (int g = 0; g < block.graphs; ++g) nodes += float(last.after.sizes[g]);
    });
    weights.give_change(base, moved);
    measures[0] = loss / float(task->graphs);
    measures[1] = information / nodes;
}

// `direction` plus `scale` times the Hessian of the mean cross-entropy times it, to `moved`.
extern "C" void add_curvature_of(const Task* task, const float* direction, float scale, float* moved) {
    Workspace& work = workspace();
    EpisodeWeights weights(task->sizes(), task->start, work);
    const EpisodeWeights along(task->sizes(), direction, work);
    Pass pass;
    PassChange changes;
    const float each = scale / float(task->graphs);
    for_blocks(*task, work, [&](const Block& block) {
        forward(block, weights, task->ratio, pass, work);
        backward(block, weights, pass, task->labels + block.first - task->first, task->classes, each, nullptr, work);
        forward_change(block, weights, along, pass, changes, work);
        backward_change(block, weights, along, pass, changes, task->classes, each, work);
    });
    weights.give_change(direction, moved);
}
