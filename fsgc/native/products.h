// Matrix products of the shapes that small networks have: many rows, few columns, everything in cache.
//
// Written with the vector types of GCC and Clang: a vector is one register. Rows are contiguous; strides count floats.
#pragma once
#include "processor.h"
#include <cstring>

namespace fsgc {

#ifndef FSGC_AVX2
constexpr int LANES = 16;
constexpr int TILE_VECTORS = 4;  // in a row of a tile
#else
constexpr int LANES = 8;
constexpr int TILE_VECTORS = 2;
#endif
constexpr int FILL = 16;  // what callers fill rows up to, whatever the processor: a multiple of LANES
typedef float Lanes __attribute__((vector_size(4 * LANES), aligned(4), may_alias));
typedef float Half __attribute__((vector_size(32)));  // of a register of AVX-512, and all of one of AVX2

FSGC_INLINE Lanes load(const float* from) { return *reinterpret_cast<const Lanes*>(from); }
FSGC_INLINE void store(float* to, Lanes value) { *reinterpret_cast<Lanes*>(to) = value; }
FSGC_INLINE Lanes all(float value) { return Lanes{} + value; }

// The sum of the two halves of a register of AVX-512, one of AVX2 as it is.
FSGC_INLINE Half half_sum(Lanes value) {
#ifndef FSGC_AVX2
    return __builtin_shufflevector(value, value, 0, 1, 2, 3, 4, 5, 6, 7) +
           __builtin_shufflevector(value, value, 8, 9, 10, 11, 12, 13, 14, 15);
#else
    return value;
#endif
}

constexpr int filled_up(int count) { return (count + FILL - 1) / FILL * FILL; }

// `ROWS` rows of y and `COLUMNS` vectors of each: y = x w, or y += x w. `x_step` lies between two rows of x and
// `k_step` between two of the `k` terms, so that x may stand or lie.
template <int ROWS, int COLUMNS, bool ADD>
FSGC_INLINE void tile(int k, const float* x, long x_step, long k_step, const float* w, long w_step, float* y, long y_step) {
    Lanes sum[ROWS][COLUMNS];
    for (int r = 0; r < ROWS; ++r)
        for (int c = 0; c < COLUMNS; ++c) sum[r][c] = ADD ? load(y + r * y_step + c * LANES) : Lanes{};
    for (int i = 0; i < k; ++i) {
        Lanes right[COLUMNS];
        for (int c = 0; c < COLUMNS; ++c) right[c] = load(w + i * w_step + c * LANES);
        for (int r = 0; r < ROWS; ++r) {
            const float left = x[r * x_step + i * k_step];  // times a vector it is spread as it is read, for nothing
            for (int c = 0; c < COLUMNS; ++c) sum[r][c] += left * right[c];
        }
    }
    for (int r = 0; r < ROWS; ++r)
        for (int c = 0; c < COLUMNS; ++c) store(y + r * y_step + c * LANES, sum[r][c]);
}

template <int COLUMNS, bool ADD>
FSGC_INLINE void column_block(int rows, int k, const float* x, long x_step, long k_step, const float* w, long w_step, float* y, long y_step) {
    constexpr int ROWS = COLUMNS == TILE_VECTORS ? 6 : 8;  // as many sums as there are registers for
    int r = 0;
    for (; r + ROWS <= rows; r += ROWS)
        tile<ROWS, COLUMNS, ADD>(k, x + r * x_step, x_step, k_step, w, w_step, y + r * y_step, y_step);
    for (; r + 4 <= rows; r += 4)
        tile<4, COLUMNS, ADD>(k, x + r * x_step, x_step, k_step, w, w_step, y + r * y_step, y_step);
    for (; r < rows; ++r) tile<1, COLUMNS, ADD>(k, x + r * x_step, x_step, k_step, w, w_step, y + r * y_step, y_step);
}

// y [rows, columns] = x [rows, k] w [k, columns], or += with ADD; `columns` is a multiple of LANES.
template <bool ADD>
FSGC_INLINE void product(int rows, int k, int columns, const float* x, long x_step, long k_step, const float* w, long w_step, float* y, long y_step) {
    int c = 0;
    for (; c + TILE_VECTORS * LANES <= columns; c += TILE_VECTORS * LANES)
        column_block<TILE_VECTORS, ADD>(rows, k, x, x_step, k_step, w + c, w_step, y + c, y_step);
    for (; c + 2 * LANES <= columns; c += 2 * LANES)
        column_block<2, ADD>(rows, k, x, x_step, k_step, w + c, w_step, y + c, y_step);
    for (; c < columns; c += LANES)
        column_block<1, ADD>(rows, k, x, x_step, k_step, w + c, w_step, y + c, y_step);
}

}  // namespace fsgc
