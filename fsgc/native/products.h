// Matrix products of the shapes that small networks have: many rows, few columns, everything in cache.
//
// Written with the vector types of GCC and Clang: with AVX-512 a vector is one register. Rows are contiguous; strides
// count floats.
#pragma once
#include "processor.h"
#include <cstring>

namespace fsgc {

constexpr int LANES = 16;
typedef float Lanes __attribute__((vector_size(4 * LANES), aligned(4), may_alias));

FSGC_INLINE Lanes load(const float* from) { return *reinterpret_cast<const Lanes*>(from); }
FSGC_INLINE void store(float* to, Lanes value) { *reinterpret_cast<Lanes*>(to) = value; }
FSGC_INLINE Lanes all(float value) { return Lanes{} + value; }

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
    constexpr int ROWS = COLUMNS == 4 ? 6 : 8;  // as many sums as there are registers for
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
    for (; c + 4 * LANES <= columns; c += 4 * LANES)
        column_block<4, ADD>(rows, k, x, x_step, k_step, w + c, w_step, y + c, y_step);
    for (; c + 2 * LANES <= columns; c += 2 * LANES)
        column_block<2, ADD>(rows, k, x, x_step, k_step, w + c, w_step, y + c, y_step);
    for (; c < columns; c += LANES)
        column_block<1, ADD>(rows, k, x, x_step, k_step, w + c, w_step, y + c, y_step);
}

}  // namespace fsgc
