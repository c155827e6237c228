// An episode of AS-MAML, its steps on the supports and the logits of its queries, with everything in cache.
//
// A support's loss depends on no other support: the graphs go through the network and back in blocks, and only the
// gradient of the weights is kept of a block.
#include "../../native/processor.h"
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>
FSGC_FOR_FAST_PROCESSORS
#include "block_pass.h"

namespace {

using namespace fsgc;

// The gradient of `scale` times the summed cross-entropy, by the logits [graphs, classes], in their place.
FSGC_INLINE void loss_back(int graphs, int classes, int filled, const int64_t* labels, float scale, float* logits) {
    for (int g = 0; g < graphs; ++g) {
        float *row = logits + long(g) * filled, largest = row[0], sum = 0;
        for (int c = 1; c < classes; ++c) largest = std::max(largest, row[c]);
        for (int c = 0; c < classes; ++c) sum += row[c] = std::exp(row[c] - largest);
        for (int c = 0; c < classes; ++c) row[c] = scale * (row[c] / sum - (labels[g] == c));
        for (int c = classes; c < filled; ++c) row[c] = 0;
    }
}

}  // namespace

// Take `steps` steps of rate `lr` from the weights `start` on the graphs from `first_support` on, and give the logits,
// [queries, classes], of those from `first_query` on. `block_nodes` nodes pass through the network at a time.
extern "C" void adapt_and_score(
    const float* x, const int64_t* first_node, const int64_t* first_source, const int64_t* source, int features,
    int width, int levels, int classes, float ratio, const float* start, const int64_t* labels, int first_support,
    int supports, int first_query, int queries, int steps, float lr, int block_nodes, float* logits) {
    static thread_local Workspace work;
    work.give_back({0, 0});
    const Graphs graphs{x, first_node, first_source, source};
    const int filled = (classes + LANES - 1) / LANES * LANES;
    EpisodeWeights weights({features, width, levels, filled}, start, work);
    Pass pass;
    const Workspace::Mark whole = work.mark();
    std::vector<Block> blocks;
    for (int done = 0; done < supports; done += blocks.back().graphs)
        blocks.push_back(make_block(graphs, features, first_support + done, first_support + supports, block_nodes, work));
    const Workspace::Mark prepared = work.mark();
    for (int step = 0; step < steps; ++step) {
        for (const Block& block : blocks) {
            work.give_back(prepared);
            forward(block, weights, ratio, pass, work);
            loss_back(block.graphs, classes, filled, labels + block.first - first_support, -lr / float(supports), pass.logits);
            backward(block, weights, pass, pass.logits, work);
        }
        weights.take_change();
    }
    for (int done = 0; done < queries;) {
        work.give_back(whole);
        const Block block = make_block(graphs, features, first_query + done, first_query + queries, block_nodes, work);
        forward(block, weights, ratio, pass, work);
        for (int g = 0; g < block.graphs; ++g)
            memcpy(logits + long(done + g) * classes, pass.logits + long(g) * filled, classes * sizeof(float));
        done += block.graphs;
    }
}
