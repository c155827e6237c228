// What the passes of `gin_pass_kernel.cpp` are given, and how graphs and gradients lie in memory.
#pragma once
#include "batch_norm_rows.h"

namespace fsgc {

struct Layer {
    const float *eps, *first, *first_bias;  // ε or null; [d, in], [d]; null where the first layer's result is given
    Norm inner;
    const float *second, *second_bias;  // [d, d], [d]
    Norm outer;
};

struct PassCall {
    int64_t width, convs, graphs, rows;    // d, L, g, n
    int64_t inputs;                        // F, or 0 where the first linear layer's result is given
    const int64_t *place, *node_pointer;   // of a graph: which of the stored ones; of those: their nodes
    const int64_t *edge_pointer, *source;  // neighbours of the stored nodes
    const float *features, *sums;          // of the stored nodes and their sums over neighbours, [V, F]
    float* kept;            // affine maps of the norms, [2 L, 4, d]; what entered them, [2 L, n, d]; [n, d] to work in
    const float* entry;     // the first linear layer's result, [n, d]
    float* out;             // read-outs [g, L d]
    const float* grad_out;  // the same
    float* grads;           // zeros, to become the gradients in the order of `gradients`
    float* grad_entry;
};

struct Gradient {  // of a layer; the biases in front of norms keep their zeros
    float *eps, *first, *inner_weight, *inner_bias, *second, *outer_weight, *outer_bias;
};

FSGC_INLINE std::vector<Gradient> gradients(const PassCall& call, const Layer* layers) {
    std::vector<Gradient> found(call.convs);
    const long d = call.width;
    float* at = call.grads;
    const auto take = [&](long count) FSGC_INLINED { float* part = at; at += count; return part; };
    for (long l = 0; l < call.convs; ++l) {
        const Layer& layer = layers[l];
        Gradient& of = found[l];
        if (layer.eps) of.eps = take(1);
        if (layer.first) {
            of.first = take(d * (l ? d : call.inputs));
            take(d);
        }
        of.inner_weight = take(d);
        of.inner_bias = take(d);
        of.second = take(d * d);
        take(d);
        of.outer_weight = take(d);
        of.outer_bias = take(d);
    }
    return found;
}

// `mix` of rows.h, several vectors at a time: nodes have few neighbours, so that to look for them takes as long as to sum.
struct Mix {
    long n;
    int d;
    const float* x;
    float own;
    const int64_t *pointer, *source;
    int64_t first;
    float* y;

    template <int N>
    FSGC_INLINE void columns(int c) const {
        for (long v = 0; v < n; ++v) {
            Lanes sums[N];
            for (int i = 0; i < N; ++i) sums[i] = own * load(x + v * d + c + i * LANES);
            for (int64_t edge = pointer[v]; edge < pointer[v + 1]; ++edge) {
                const float* from = x + (source[edge] - first) * d + c;
                for (int i = 0; i < N; ++i) sums[i] += load(from + i * LANES);
            }
            for (int i = 0; i < N; ++i) store(y + v * d + c + i * LANES, sums[i]);
        }
    }
};

struct Block {  // some graphs, one after the other
    long begin, end, first, rows;
};

constexpr long BLOCK = 192;  // nodes that are worked on together

class Graphs {
  public:
    FSGC_INLINE explicit Graphs(const PassCall& given) : call(given), d(static_cast<int>(given.width)), pointer(given.graphs + 1) {
        for (long graph = 0; graph < call.graphs; ++graph)
            pointer[graph + 1] = pointer[graph] + call.node_pointer[call.place[graph] + 1] - origin(graph);
        for (long begin = 0; begin < call.graphs;) {
            long end = begin + 1;
            while (end < call.graphs && pointer[end + 1] - pointer[begin] <= BLOCK) ++end;
            blocks.push_back({begin, end, pointer[begin], pointer[end] - pointer[begin]});
            most_rows = blocks.back().rows > most_rows ? blocks.back().rows : most_rows;
            begin = end;
        }
    }

    // y_v = (1 + ε) x_v + the sum of x_u over the neighbours u of v.
    FSGC_INLINE void mixed(const Block& block, const float* eps, const float* x, float* y) const {
        each(block, [&](long graph, long at, long n) FSGC_INLINED {
            const int64_t first = origin(graph);
            each_columns(d, Mix{n, d, x + at * d, own(eps), call.edge_pointer + first, call.source, first, y + at * d});
        });
    }

    // The same of the node features, whose sums over neighbours are known: [rows, F].
    FSGC_INLINE void mixed_features(const Block& block, const float* eps, float* y) const {
        const long wide = call.inputs;
        const float self = own(eps);
        each(block, [&](long graph, long at, long n) FSGC_INLINED {
            const float *x = call.features + origin(graph) * wide, *sums = call.sums + origin(graph) * wide;
            for (long i = 0; i < n * wide; ++i) y[at * wide + i] = sums[i] + self * x[i];
        });
    }

    FSGC_INLINE void copy_features(const Block& block, float* y) const {
        const long wide = call.inputs;
        each(block, [&](long graph, long at, long n) FSGC_INLINED {
            std::memcpy(y + at * wide, call.features + origin(graph) * wide, sizeof(float) * n * wide);
        });
    }

    // The sums of x over the nodes of each graph, into layer l's part of the result.
    FSGC_INLINE void read_out(const Block& block, long l, const float* x) const {
        each(block, [&](long graph, long at, long n) FSGC_INLINED {
            float* to = call.out + (graph * call.convs + l) * d;
            std::memset(to, 0, sizeof(float) * d);
            add_column_sums(n, d, x + at * d, to);
        });
    }

    // Each graph's gradient of layer l's read-out to all of its nodes; added with ADD.
    template <bool ADD>
    FSGC_INLINE void read_out_back(const Block& block, long l, float* grad) const {
        each(block, [&](long graph, long at, long n) FSGC_INLINED {
            const float* from = call.grad_out + (graph * call.convs + l) * d;
            for (int c = 0; c < d; c += LANES) {
                const Lanes value = load(from + c);
                for (long r = at; r < at + n; ++r) store(grad + r * d + c, ADD ? load(grad + r * d + c) + value : value);
            }
        });
    }

    const PassCall& call;
    const int d;
    std::vector<Block> blocks;
    long most_rows = 0;

  private:
    std::vector<long> pointer;

    FSGC_INLINE int64_t origin(long graph) const { return call.node_pointer[call.place[graph]]; }
    static FSGC_INLINE float own(const float* eps) { return eps ? 1.0f + *eps : 1.0f; }

    template <class Function>
    FSGC_INLINE void each(const Block& block, Function function) const {
        for (long graph = block.begin; graph < block.end; ++graph)
            function(graph, pointer[graph] - block.first, pointer[graph + 1] - pointer[graph]);
    }
};

}  // namespace fsgc
