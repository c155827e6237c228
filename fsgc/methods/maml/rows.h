// What the passes over node rows `[n, d]` are made of: products, sums over neighbours and columns. `d` is a multiple of
// LANES, rows follow each other without a gap.
#pragma once
#include <cstdint>
#include <memory>
#include <vector>

#include "../../native/squares.h"

namespace maml {

using fsgc::all;
using fsgc::Lanes;
using fsgc::LANES;
using fsgc::load;
using fsgc::store;
using fsgc::turn_square;

constexpr float EPS = 1e-5f;  // as in fsgc/nn/fused_norm.py

// Zero where ReLU's result is, else the value: the gradient, or the tangent, past ReLU. Not a number stays that.
FSGC_INLINE Lanes past_relu(Lanes result, Lanes value) { return result <= Lanes{} ? Lanes{} : value; }

FSGC_INLINE Lanes relu(Lanes value) { return past_relu(value, value); }

FSGC_INLINE Lanes inverse_root(Lanes value) {
    Lanes result;
    for (int i = 0; i < LANES; ++i) result[i] = 1.0f / __builtin_sqrtf(value[i]);
    return result;
}

FSGC_INLINE float sum_of(Lanes value) {
    typedef float Quarter __attribute__((vector_size(16)));
    fsgc::Half halves[LANES / 8];
    std::memcpy(halves, &value, sizeof value);
    const fsgc::Half half = LANES == 8 ? halves[0] : halves[0] + halves[LANES / 8 - 1];
    Quarter quarters[2];
    std::memcpy(quarters, &half, sizeof half);
    const Quarter quarter = quarters[0] + quarters[1];
    return (quarter[0] + quarter[1]) + (quarter[2] + quarter[3]);
}

// Memory that is handed out piece by piece and taken back to a mark; that of an empty one is {0, 0}.
class Arena {
public:
    struct Mark {
        size_t chunk, used;
    };

    float* take(long count) {
        const size_t rounded = (count + LANES - 1) / LANES * LANES;
        while (chunk < chunks.size() && used + rounded > chunks[chunk].size) ++chunk, used = 0;
        if (chunk == chunks.size()) add(rounded > CHUNK ? rounded : CHUNK);
        float* result = chunks[chunk].start + used;
        used += rounded;
        return result;
    }

    Mark mark() const { return {chunk, used}; }
    void back_to(Mark mark) { chunk = mark.chunk, used = mark.used; }

    size_t size() const {
        size_t sum = 0;
        for (const Chunk& one : chunks) sum += one.size;
        return sum;
    }

private:
    static constexpr size_t CHUNK = 1 << 19;
    struct Chunk {
        std::unique_ptr<float[]> memory;
        float* start;
        size_t size;
    };

    void add(size_t size) {
        std::unique_ptr<float[]> memory(new float[size + LANES]);
        const uintptr_t line = 4 * LANES, address = reinterpret_cast<uintptr_t>(memory.get());
        float* start = memory.get() + ((line - address % line) % line) / 4;  // a vector then lies in one cache line
        chunks.push_back({std::move(memory), start, size});
    }

    std::vector<Chunk> chunks;
    size_t chunk = 0, used = 0;
};

// y [rows, columns] = x [rows, k] w [k, columns].
static void multiply(int rows, int k, int columns, const float* x, long x_step, const float* w, long w_step, float* y, long y_step) {
    fsgc::product<false>(rows, k, columns, x, x_step, 1, w, w_step, y, y_step);
}

// y [rows, columns] += x [rows, k] w [k, columns].
static void multiply_add(int rows, int k, int columns, const float* x, long x_step, const float* w, long w_step, float* y, long y_step) {
    fsgc::product<true>(rows, k, columns, x, x_step, 1, w, w_step, y, y_step);
}

// y [k, columns] += xᵀ g for x [rows, k] and g [rows, columns].
static void adjoint_add(int rows, int k, int columns, const float* x, long x_step, const float* g, long g_step, float* y, long y_step) {
    fsgc::product<true>(k, rows, columns, x, 1, x_step, g, g_step, y, y_step);
}

// y [columns, rows] = xᵀ for x [rows, columns]; `rows` is a multiple of LANES.
static void transpose(int rows, int columns, const float* x, long x_step, float* y, long y_step) {
    for (int r = 0; r < rows; r += LANES) {
        int c = 0;
        for (; c + LANES <= columns; c += LANES) {
            Lanes square[LANES];
            for (int i = 0; i < LANES; ++i) square[i] = load(x + (r + i) * x_step + c);
            turn_square(square);
            for (int i = 0; i < LANES; ++i) store(y + (c + i) * y_step + r, square[i]);
        }
        for (; c < columns; ++c)
            for (int i = 0; i < LANES; ++i) y[c * y_step + r + i] = x[(r + i) * x_step + c];
    }
}

// Each row of y [rows, d] = row · scales[r], or the row itself where there are no scales.
static void repeat(int rows, int d, const float* row, const float* scales, float* y) {
    for (int r = 0; r < rows; ++r)
        for (int c = 0; c < d; c += LANES) store(y + r * d + c, scales ? load(row + c) * scales[r] : load(row + c));
}

// sums [d] += the sum of the rows of x [rows, d], each times its scale where there are scales.
static void add_rows(int rows, int d, const float* x, const float* scales, float* sums) {
    for (int c = 0; c < d; c += LANES) {
        Lanes sum = load(sums + c);
        for (int r = 0; r < rows; ++r) sum += scales ? load(x + r * d + c) * scales[r] : load(x + r * d + c);
        store(sums + c, sum);
    }
}

// y [count] += scale · x [count].
static void add_scaled(long count, float scale, const float* x, float* y) {
    for (long i = 0; i < count; ++i) y[i] += scale * x[i];
}

// The sum of the products of all numbers; `count` is a multiple of LANES.
static float dot(long count, const float* a, const float* b) {
    Lanes sum{};
    for (long i = 0; i < count; i += LANES) sum += load(a + i) * load(b + i);
    return sum_of(sum);
}

// Graphs that are taken together, and their nodes: rows are counted from the first of theirs.
struct Block {
    int graphs, rows, first_graph;
    const int64_t* starts;  // of each graph its first row, [graphs + 1], counted from `starts[0]`
    const int64_t* edges;   // of each node its first neighbour in `sources`, [rows + 1]
    const int64_t* sources;  // neighbours, counted as `starts` are
    const float* inputs;    // X and A X, [rows, 2·F]
    const int64_t* codes;   // in their place, of each row the one feature that it has; or nowhere

    FSGC_INLINE int begin(int graph) const { return static_cast<int>(starts[graph] - starts[0]); }
    FSGC_INLINE int end(int graph) const { return begin(graph + 1); }
};

// y = (A + own · I) x on the rows of a block. The map is symmetric: this is also its adjoint.
static void mix(const Block& block, int d, float own, const float* x, float* y) {
    for (int v = 0; v < block.rows; ++v)
        for (int c = 0; c < d; c += 4 * LANES) {
            const int lanes = d - c < 4 * LANES ? (d - c) / LANES : 4;
            Lanes sum[4] = {};
            for (int64_t e = block.edges[v]; e < block.edges[v + 1]; ++e) {
                const float* row = x + (block.sources[e] - block.starts[0]) * d + c;
                for (int i = 0; i < 4; ++i)
                    if (i < lanes) sum[i] += load(row + i * LANES);
            }
            for (int i = 0; i < lanes; ++i) {
                const long at = static_cast<long>(v) * d + c + i * LANES;
                store(y + at, sum[i] + own * load(x + at));
            }
        }
}

}  // namespace maml
