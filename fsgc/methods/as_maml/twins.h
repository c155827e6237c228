// Nodes of a graph with the same features and the same neighbours.
#pragma once
#include <algorithm>
#include <cstring>
#include <utility>

#include "../../native/products.h"
#include "workspace.h"

namespace fsgc {

// All graphs of a batch of episodes as Python has them (`GraphBatch`).
struct Graphs {
    const float* x;               // [n, features]
    const int64_t *first_node;    // [g + 1], the first node of each graph
    const int64_t *first_source;  // [n + 1], the first neighbour of each node in `source`
    const int64_t *source;        // neighbours, of each node ascending
};

FSGC_INLINE bool are_twins(const Graphs& all, int features, int64_t a, int64_t b) {
    const int64_t degree = all.first_source[a + 1] - all.first_source[a];
    return degree == all.first_source[b + 1] - all.first_source[b] &&
           !memcmp(all.source + all.first_source[a], all.source + all.first_source[b], degree * sizeof(int64_t)) &&
           !memcmp(all.x + a * features, all.x + b * features, features * sizeof(float));
}

// A number that twins have in common.
FSGC_INLINE uint64_t mark_of(const Graphs& all, int features, int64_t v) {
    uint64_t mark = 0;
    for (int c = 0; c < features; ++c) {
        uint32_t bits;
        memcpy(&bits, all.x + v * features + c, 4);
        mark = (mark ^ bits) * 0x9e3779b97f4a7c15u;
    }
    for (int64_t e = all.first_source[v]; e < all.first_source[v + 1]; ++e)
        mark = (mark ^ mark >> 29 ^ uint64_t(all.source[e])) * 0x9e3779b97f4a7c15u;
    return mark;
}

// The first of the twins of each of `total` nodes from `node` on, those of the graphs from `first` to `last`. Nodes are
// twins of their graph only: a node without neighbours has its like in other graphs.
FSGC_INLINE int* first_twins(const Graphs& all, int features, int64_t node, int total, int first, int last, Workspace& work) {
    int* original = work.take<int>(total);
    std::pair<uint64_t, int>* marked = work.take<std::pair<uint64_t, int>>(total);
    for (int v = 0; v < total; ++v) marked[v] = {mark_of(all, features, node + v), v};
    for (int g = first; g < last; ++g) {
        const int begin = int(all.first_node[g] - node), end = int(all.first_node[g + 1] - node);
        std::sort(marked + begin, marked + end);
        for (int i = begin, before = begin; i < end; ++i) {
            const bool same = marked[i].first == marked[before].first &&
                              are_twins(all, features, node + marked[before].second, node + marked[i].second);
            if (!same) before = i;
            original[marked[i].second] = marked[before].second;
        }
    }
    return original;
}

}  // namespace fsgc
