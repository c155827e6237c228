// Some graphs of an episode, few enough for the cache, and pooling that drops nodes of them.
//
// Twins, nodes of a graph with the same features and the same neighbours, have the same value everywhere: they are one
// row with a weight. Half of the nodes of a discussion are twins, people who have answered one other person.
#pragma once
#include <algorithm>
#include <cmath>

#include "row_functions.h"
#include "twins.h"
#include "workspace.h"

namespace fsgc {

// The rows of one level of a block: those of its first graph, then those of its second, …
struct Nodes {
    int count;
    const int *graph;     // [graphs + 1], the first row of each graph
    const int *sizes;     // [graphs], nodes of each graph: the sum of its weights
    const int *pointer;   // [count + 1], the first neighbour of each row in `source`
    const int *source;    // neighbours, without the row itself
    const float *weight;  // [count], how many nodes a row stands for
    const float *share;   // [count], one over a node and its neighbours
    const int *twins;     // [count], where the nodes of a row begin in the `members` of its block, ascending
};

struct Block {
    int first, graphs;  // among the graphs of the batch
    int all;            // nodes of these
    const int* members; // [all], the nodes of each row
    Nodes nodes;
    float* inputs;  // [rows, features], means over each node and its neighbours
};

FSGC_INLINE const float* shares(int count, const int* pointer, const int* source, const float* weight, Workspace& work) {
    float* share = work.take<float>(count);
    for (int v = 0; v < count; ++v) {
        float around = 1.0f;
        for (int e = pointer[v]; e < pointer[v + 1]; ++e) around += weight[source[e]];
        share[v] = 1.0f / around;
    }
    return share;
}

// `MANY` vectors of share · row + after · Σ factor · row, the sum over the neighbours.
template <int MANY>
FSGC_INLINE void sum_columns(const Nodes& nodes, int width, const float* rows, const float* factor, const float* after, float* out) {
    for (int v = 0; v < nodes.count; ++v) {
        Lanes sum[MANY] = {};
        for (int e = nodes.pointer[v]; e < nodes.pointer[v + 1]; ++e) {
            const int u = nodes.source[e];
            for (int i = 0; i < MANY; ++i) sum[i] += factor[u] * load(rows + long(u) * width + i * LANES);
        }
        for (int i = 0; i < MANY; ++i) {
            const long at = long(v) * width + i * LANES;
            store(out + at, nodes.share[v] * load(rows + at) + after[v] * sum[i]);
        }
    }
}

// The mean over each node and its neighbours, rows [n, width] to [n, width], or the adjoint of it.
FSGC_INLINE void means_around(const Nodes& nodes, int width, const float* rows, bool back, float* out) {
    const float *factor = back ? nodes.share : nodes.weight, *after = back ? nodes.weight : nodes.share;
    int c = 0;
    for (; c + 4 * LANES <= width; c += 4 * LANES) sum_columns<4>(nodes, width, rows + c, factor, after, out + c);
    for (; c < width; c += LANES) sum_columns<1>(nodes, width, rows + c, factor, after, out + c);
}

// The sum over the neighbours of a row, of one number each; every node of a row counts.
FSGC_INLINE float sum_around(const Nodes& nodes, const float* values, int row) {
    float sum = 0;
    for (int e = nodes.pointer[row]; e < nodes.pointer[row + 1]; ++e) sum += nodes.weight[nodes.source[e]] * values[nodes.source[e]];
    return sum;
}

// Its adjoint, for all rows.
FSGC_INLINE void sum_around_back(const Nodes& nodes, const float* grads, float* out) {
    for (int v = 0; v < nodes.count; ++v) {
        float sum = 0;
        for (int e = nodes.pointer[v]; e < nodes.pointer[v + 1]; ++e) sum += grads[nodes.source[e]];
        out[v] = sum * nodes.weight[v];
    }
}

// The graphs from `first` on, up to `end`: as many as have `most` nodes together, or one.
FSGC_INLINE Block make_block(const Graphs& all, int features, int first, int end, long most, Workspace& work) {
    int last = first + 1;
    while (last < end && all.first_node[last + 1] - all.first_node[first] <= most) ++last;
    const int graphs = last - first;
    const int64_t node = all.first_node[first], edge = all.first_source[node];
    const int total = int(all.first_node[last] - node);
    int *graph = work.take<int>(graphs + 1), *sizes = work.take<int>(graphs), *row = work.take<int>(total);
    int *members = work.take<int>(total), *twins = work.take<int>(total), *pointer = work.take<int>(total + 1);
    int* source = work.take<int>(all.first_source[node + total] - edge);
    float* weight = work.take<float>(total);
    int* original = first_twins(all, features, node, total, first, last, work);
    int count = 0;
    for (int g = 0; g < graphs; ++g) {
        const int begin = int(all.first_node[first + g] - node), after = int(all.first_node[first + g + 1] - node);
        graph[g] = count;
        sizes[g] = after - begin;
        for (int v = begin; v < after; ++v) {
            if (original[v] == v) weight[count] = 0, row[v] = count++;
            weight[row[original[v]]] += 1;
        }
    }
    graph[graphs] = count;
    for (int r = 0, at = 0; r < count; ++r) twins[r] = at, at += int(weight[r]);
    int *filled = work.take<int>(count), edges = 0;
    memset(filled, 0, count * sizeof(int));
    for (int v = 0; v < total; ++v) {
        const int r = row[original[v]];
        members[twins[r] + filled[r]++] = v;
        if (original[v] != v) continue;
        pointer[r] = edges;
        for (int64_t e = all.first_source[node + v]; e < all.first_source[node + v + 1]; ++e) {
            const int u = int(all.source[e] - node);
            if (original[u] == u) source[edges++] = row[u];
        }
    }
    pointer[count] = edges;
    const Nodes nodes{count, graph, sizes, pointer, source, weight, shares(count, pointer, source, weight, work), twins};
    float* inputs = work.take<float>(long(count) * features);
    for (int r = 0; r < count; ++r)
        for (int c = 0; c < features; ++c) {
            const int64_t v = node + members[twins[r]];
            float sum = all.x[v * features + c];
            for (int64_t e = all.first_source[v]; e < all.first_source[v + 1]; ++e) sum += all.x[all.source[e] * features + c];
            inputs[long(r) * features + c] = sum * nodes.share[r];
        }
    return {first, graphs, total, members, nodes, inputs};
}

// Order nodes by gate, the highest first and the first of equal ones; a gate that is no number counts as -1.
FSGC_INLINE uint64_t rank_of(float gate, int node) {
    const float falling = -(gate == gate ? gate : -1.0f) + 0.0f;  // with no -0
    uint32_t bits;
    memcpy(&bits, &falling, 4);
    bits ^= bits >> 31 ? 0xffffffffu : 0x80000000u;
    return uint64_t(bits) << 32 | uint32_t(node);
}

// The rows of the next level, their neighbours without those dropped; `kept` is where each comes from, `place` where
// each row goes, -1 where it is dropped. A graph keeps its ⌈ratio · n⌉ nodes of highest gate in their order.
FSGC_INLINE Nodes pool(const Block& block, const Nodes& nodes, float ratio, const float* gate, int*& kept, int*& place, Workspace& work) {
    int *graph = work.take<int>(block.graphs + 1), *sizes = work.take<int>(block.graphs);
    int *row = work.take<int>(block.all), *twins = work.take<int>(nodes.count);
    float *taken = work.take<float>(nodes.count), *weight = work.take<float>(nodes.count);
    kept = work.take<int>(nodes.count);
    place = work.take<int>(nodes.count);
    uint64_t* ranks = work.take<uint64_t>(block.all);
    int count = 0;
    for (int g = 0; g < block.graphs; ++g) {
        const int begin = nodes.graph[g], end = nodes.graph[g + 1], size = nodes.sizes[g];
        sizes[g] = std::min(size, int(std::ceil(ratio * float(size))));
        uint64_t* next = ranks;
        for (int r = begin; r < end; ++r) {
            taken[r] = 0;
            for (int i = 0; i < int(nodes.weight[r]); ++i) {
                const int node = block.members[nodes.twins[r] + i];
                row[node] = r;
                *next++ = rank_of(gate[r], node);
            }
        }
        if (sizes[g] < size) std::nth_element(ranks, ranks + sizes[g], next);
        for (int i = 0; i < sizes[g]; ++i) taken[row[uint32_t(ranks[i])]] += 1;
        graph[g] = count;
        for (int r = begin; r < end; ++r) {
            place[r] = taken[r] > 0 ? count : -1;
            if (place[r] < 0) continue;
            twins[count] = nodes.twins[r];  // of equal gates the first are taken: those left are the first of the row
            weight[count] = taken[r];
            kept[count++] = r;
        }
    }
    graph[block.graphs] = count;
    int *pointer = work.take<int>(count + 1), *source = work.take<int>(nodes.pointer[nodes.count]), edges = 0;
    for (int j = 0; j < count; ++j) {
        pointer[j] = edges;
        for (int e = nodes.pointer[kept[j]]; e < nodes.pointer[kept[j] + 1]; ++e) {
            source[edges] = place[nodes.source[e]];
            edges += source[edges] >= 0;
        }
    }
    pointer[count] = edges;
    return {count, graph, sizes, pointer, source, weight, shares(count, pointer, source, weight, work), twins};
}

}  // namespace fsgc
