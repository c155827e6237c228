// Some graphs of an episode: their blocks, one after the other, and the logits of all of them.
#pragma once
#include "block_pass.h"

namespace fsgc {

// What a call is about; the same structure is in `kernel_task.py`.
struct Task {
    const float* x;               // the graphs of a batch of episodes, as in `Graphs`
    const int64_t *first_node, *first_source, *source;
    const float* start;           // weights, in the form of `Places` with matrices row after row
    const int64_t* labels;        // [graphs]
    int features, width, levels, classes;
    int first, graphs;            // which of the graphs: so many from `first` on
    int block_nodes;              // nodes that pass through the network at a time
    float ratio;                  // share of the nodes that a pooling keeps

    Graphs all() const { return {x, first_node, first_source, source}; }
    Sizes sizes() const { return {features, width, levels, filled_up(classes)}; }
};

// Memory for the arrays of a call, kept by each thread for its next one.
FSGC_INLINE Workspace& workspace() {
    static thread_local Workspace work;
    work.give_back({0, 0});
    return work;
}

// Call `use(block)` for each block of the graphs; what it takes of `work` is given back after it.
template <class Use>
FSGC_INLINE void for_blocks(const Task& task, Workspace& work, Use use) {
    const Workspace::Mark before = work.mark();
    const int end = task.first + task.graphs;
    for (int first = task.first; first < end;) {
        const Block block = make_block(task.all(), task.features, first, end, task.block_nodes, work);
        use(block);
        first += block.graphs;
        work.give_back(before);
    }
}

// The logits of a block after a pass, among those of all graphs, [graphs, classes].
FSGC_INLINE void give_logits(const Task& task, const Block& block, const Pass& pass, float* logits) {
    const int filled = task.sizes().classes;
    for (int g = 0; g < block.graphs; ++g)
        memcpy(logits + long(block.first - task.first + g) * task.classes, pass.logits + long(g) * filled, task.classes * sizeof(float));
}

// The logits of all graphs, [graphs, classes].
FSGC_INLINE void score(const Task& task, const EpisodeWeights& weights, Workspace& work, float* logits) {
    Pass pass;
    for_blocks(task, work, [&](const Block& block) {
        forward(block, weights, task.ratio, pass, work);
        give_logits(task, block, pass, logits);
    });
}

}  // namespace fsgc
