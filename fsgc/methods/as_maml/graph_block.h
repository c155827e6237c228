// Some graphs of an episode, few enough for the cache, and pooling that drops nodes of them.
#pragma once
#include <algorithm>
#include <cmath>

#include "row_functions.h"
#include "workspace.h"

namespace fsgc {

// All graphs of a batch of episodes as Python has them (`GraphBatch`).
struct Graphs {
    const float* x;               // [n, features]
    const int64_t *first_node;    // [g + 1], the first node of each graph
    const int64_t *first_source;  // [n + 1], the first neighbour of each node in `source`
    const int64_t *source;
};

// The nodes of one level of a block: those of its first graph, then those of its second, …
struct Nodes {
    int count;
    const int *graph;    // [graphs + 1], the first node of each graph
    const int *pointer;  // [count + 1], the first neighbour of each node in `source`
    const int *source;   // neighbours, without the node itself
    const float *share;  // [count], one over the node and its neighbours
};

// The shares of nodes that have such neighbours.
FSGC_INLINE const float* shares(int count, const int* pointer, Workspace& work) {
    float* share = work.take<float>(count);
    for (int v = 0; v < count; ++v) share[v] = 1.0f / float(pointer[v + 1] - pointer[v] + 1);
    return share;
}

struct Block {
    int first, graphs;  // among the graphs of the batch
    Nodes nodes;
    float* inputs;  // [nodes, features], means over each node and its neighbours
};

// `MANY` vectors of Σ scale[u] · rows[u] over the node `v` and its neighbours `u`; without `scale`, of Σ rows[u].
template <int MANY>
FSGC_INLINE void sum_columns(const Nodes& nodes, int v, int width, const float* rows, const float* scale, float after, float* out) {
    Lanes sum[MANY];
    for (int i = 0; i < MANY; ++i) sum[i] = (scale ? scale[v] : 1.0f) * load(rows + long(v) * width + i * LANES);
    for (int e = nodes.pointer[v]; e < nodes.pointer[v + 1]; ++e) {
        const int u = nodes.source[e];
        for (int i = 0; i < MANY; ++i) sum[i] += (scale ? scale[u] : 1.0f) * load(rows + long(u) * width + i * LANES);
    }
    for (int i = 0; i < MANY; ++i) store(out + i * LANES, after * sum[i]);
}

template <int MANY>
FSGC_INLINE void mean_columns(const Nodes& nodes, int width, const float* rows, bool back, float* out) {
    for (int v = 0; v < nodes.count; ++v) {
        if (back)
            sum_columns<MANY>(nodes, v, width, rows, nodes.share, 1.0f, out + long(v) * width);
        else
            sum_columns<MANY>(nodes, v, width, rows, nullptr, nodes.share[v], out + long(v) * width);
    }
}

// The mean over each node and its neighbours, rows [n, width] to [n, width], or the adjoint of it: graphs are undirected.
FSGC_INLINE void means_around(const Nodes& nodes, int width, const float* rows, bool back, float* out) {
    int c = 0;
    for (; c + 4 * LANES <= width; c += 4 * LANES) mean_columns<4>(nodes, width, rows + c, back, out + c);
    for (; c < width; c += LANES) mean_columns<1>(nodes, width, rows + c, back, out + c);
}

// The graphs from `first` on, up to `end`: as many as have `most` nodes together, or one.
FSGC_INLINE Block make_block(const Graphs& all, int features, int first, int end, long most, Workspace& work) {
    int last = first + 1;
    while (last < end && all.first_node[last + 1] - all.first_node[first] <= most) ++last;
    const int64_t node = all.first_node[first], edge = all.first_source[node];
    const int count = int(all.first_node[last] - node);
    int* graph = work.take<int>(last - first + 1);
    int* pointer = work.take<int>(count + 1);
    int* source = work.take<int>(all.first_source[node + count] - edge);
    float* inputs = work.take<float>(long(count) * features);
    for (int g = first; g <= last; ++g) graph[g - first] = int(all.first_node[g] - node);
    for (int v = 0; v <= count; ++v) pointer[v] = int(all.first_source[node + v] - edge);
    for (int e = 0; e < pointer[count]; ++e) source[e] = int(all.source[edge + e] - node);
    const Nodes nodes{count, graph, pointer, source, shares(count, pointer, work)};
    for (int v = 0; v < count; ++v)
        for (int c = 0; c < features; ++c) {
            float sum = all.x[(node + v) * features + c];
            for (int e = pointer[v]; e < pointer[v + 1]; ++e) sum += all.x[(node + source[e]) * features + c];
            inputs[long(v) * features + c] = sum * nodes.share[v];
        }
    return {first, last - first, nodes, inputs};
}

// Order nodes by gate, the highest first and the first of equal ones; a gate that is no number counts as -1.
FSGC_INLINE uint64_t rank_of(float gate, int node) {
    const float falling = -(gate == gate ? gate : -1.0f) + 0.0f;  // with no -0
    uint32_t bits;
    memcpy(&bits, &falling, 4);
    bits ^= bits >> 31 ? 0xffffffffu : 0x80000000u;
    return uint64_t(bits) << 32 | uint32_t(node);
}

// The nodes of the next level, their neighbours without those dropped; `kept` is where each comes from, `place` where
// each node goes, -1 where it is dropped. A graph keeps its ⌈ratio · n⌉ nodes of highest gate in their order.
FSGC_INLINE Nodes pool(const Nodes& nodes, int graphs, float ratio, const float* gate, int*& kept, int*& place, Workspace& work) {
    int* graph = work.take<int>(graphs + 1);
    kept = work.take<int>(nodes.count);
    place = work.take<int>(nodes.count);
    uint64_t* ranks = work.take<uint64_t>(nodes.count);
    int count = 0;
    for (int g = 0; g < graphs; ++g) {
        const int begin = nodes.graph[g], end = nodes.graph[g + 1];
        const int keep = std::min(end - begin, int(std::ceil(ratio * float(end - begin))));
        for (int v = begin; v < end; ++v) ranks[v] = rank_of(gate[v], v);
        if (keep < end - begin) std::nth_element(ranks + begin, ranks + begin + keep, ranks + end);
        for (int v = begin; v < end; ++v) place[v] = -1;
        for (int r = begin; r < begin + keep; ++r) place[uint32_t(ranks[r])] = 0;
        graph[g] = count;
        for (int v = begin; v < end; ++v)
            if (place[v] == 0) place[v] = count, kept[count++] = v;
    }
    graph[graphs] = count;
    int* pointer = work.take<int>(count + 1);
    int* source = work.take<int>(nodes.pointer[nodes.count]);
    int edges = 0;
    for (int j = 0; j < count; ++j) {
        pointer[j] = edges;
        for (int e = nodes.pointer[kept[j]]; e < nodes.pointer[kept[j] + 1]; ++e) {
            source[edges] = place[nodes.source[e]];
            edges += source[edges] >= 0;
        }
    }
    pointer[count] = edges;
    return {count, graph, pointer, source, shares(count, pointer, work)};
}

}  // namespace fsgc
