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
FSGC_FOR_PROCESSOR
#include "episode_graphs.h"

using namespace fsgc;

// Take `steps` steps of rate `lr` on the supports, from their weights, and give the logits, [graphs, classes], of the
// queries, whose own weights and labels are not looked at.
extern "C" void adapt_and_score(const Task* supports, const Task* queries, int steps, float lr, float* logits) {
    Workspace& work = workspace();
    EpisodeWeights weights(supports->sizes(), supports->start, work);
    const Workspace::Mark whole = work.mark();
    std::vector<Block> blocks;
    const int end = supports->first + supports->graphs;
    for (int first = supports->first; first < end; first += blocks.back().graphs)
        blocks.push_back(make_block(supports->all(), supports->features, first, end, supports->block_nodes, work));
    const Workspace::Mark prepared = work.mark();
    Pass pass;
    for (int step = 0; step < steps; ++step) {
        for (const Block& block : blocks) {
            work.give_back(prepared);
            forward(block, weights, supports->ratio, pass, work);
            backward(block, weights, pass, supports->labels + block.first - supports->first, supports->classes,
                     -lr / float(supports->graphs), weights.change, work);
        }
        weights.take_change();
    }
    work.give_back(whole);
    score(*queries, weights, work, logits);
}
