// Graphs taken in blocks of as many nodes as the cache holds through all layers.
#pragma once
#include "../native/rows.h"

namespace fsgc {

constexpr long BLOCK = 192;  // nodes that are worked on together
constexpr int MOST_CONVS = 16;

struct Copies {  // graphs to work on, each a copy of one of some distinct graphs
    const int64_t *place, *node_pointer;   // of a copy: which distinct graph; of those: their nodes
    const int64_t *edge_pointer, *source;  // neighbours of the distinct graphs' nodes
    const int64_t *row_pointer, *episode;  // of a copy: its rows; its episode, or null where all are of episode 0
};

struct Block {  // copies of one episode that are worked on together
    const Copies& copies;
    long begin, end;

    FSGC_INLINE long episode() const { return copies.episode ? copies.episode[begin] : 0; }
    FSGC_INLINE long first_row() const { return copies.row_pointer[begin]; }
    FSGC_INLINE long rows() const { return copies.row_pointer[end] - first_row(); }

    // function(copy, its first row in the block, its nodes, the number of its first node among those of distinct graphs)
    template <class Function>
    FSGC_INLINE void each_graph(Function function) const {
        for (long copy = begin; copy < end; ++copy) {
            const long row = copies.row_pointer[copy];
            function(copy, row - first_row(), copies.row_pointer[copy + 1] - row, copies.node_pointer[copies.place[copy]]);
        }
    }

    // y_v = own · x_v + the sum of x_u over the neighbours of v, [rows, d].
    FSGC_INLINE void mixed(int d, const float* x, float own, float* y) const {
        each_graph([&](long, long row, long n, long node) FSGC_INLINED {
            mix(n, d, x + row * d, own, copies.edge_pointer + node, copies.source, node, y + row * d);
        });
    }
    FSGC_INLINE void normed(int d, const float* x, const GraphNorm& norm, float* y) const {
        each_graph([&](long, long row, long n, long) FSGC_INLINED { graph_norm_relu(n, d, x + row * d, norm, y + row * d); });
    }
    FSGC_INLINE void normed_back(int d, const float* x, const GraphNorm& norm, const GraphNorm& grads, float* grad) const {
        each_graph([&](long, long row, long n, long) FSGC_INLINED {
            graph_norm_relu_back(n, d, x + row * d, norm, grads, grad + row * d);
        });
    }
};

template <class Function>
FSGC_INLINE void each_block(const Copies& copies, long from, long to, Function function) {
    for (long begin = from; begin < to;) {
        long end = begin + 1;
        const auto fits = [&](long copy) FSGC_INLINED {
            return copies.row_pointer[copy + 1] - copies.row_pointer[begin] <= BLOCK &&
                   (!copies.episode || copies.episode[copy] == copies.episode[begin]);
        };
        while (end < to && fits(end)) ++end;
        function(Block{copies, begin, end});
        begin = end;
    }
}

FSGC_INLINE long most_rows(const Copies& copies, long from, long to) {
    long most = 0;
    each_block(copies, from, to, [&](const Block& block) FSGC_INLINED { most = block.rows() > most ? block.rows() : most; });
    return most;
}

FSGC_INLINE void transpose(long rows, long columns, const float* from, float* to) {
    for (long i = 0; i < rows; ++i)
        for (long j = 0; j < columns; ++j) to[j * rows + i] = from[i * columns + j];
}

struct Buffers {  // arrays of a block's rows, from one piece of memory
    std::unique_ptr<float[]> memory;
    long each;
    Buffers(int count, long rows, long d) : memory(new float[count * rows * d + LANES]), each(rows * d) {}
    FSGC_INLINE float* operator[](int index) const { return memory.get() + index * each; }
};

}  // namespace fsgc
