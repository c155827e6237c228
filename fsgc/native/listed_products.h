// Matrix products of rows that lie wherever a function says, so that none is copied to stand beside the others.
//
// `Rows` and `Listed` are such functions: from the number of a row to its place.
#pragma once
#include "products.h"

namespace fsgc {

constexpr int AHEAD = 16;  // at most so many rows behind the last are looked at

struct Rows {  // one after the other
    float* begin;
    long step;
    FSGC_INLINE float* operator()(long row) const { return begin + row * step; }
    FSGC_INLINE void prefetch(long, long, long) const {}  // the processor does that by itself
};

struct Listed {  // at the given places, none of which may occur twice where rows are added to
    float* begin;
    const long* place;  // of AHEAD more than there are rows
    FSGC_INLINE float* operator()(long row) const { return begin + place[row]; }
    FSGC_INLINE void prefetch(long row, long from, long to) const {
        for (long c = from; c < to; c += LANES) __builtin_prefetch(begin + place[row] + c);
    }
};

template <int ROWS, int COLUMNS, class X, class Y>
FSGC_INLINE void add_product_tile(long first, long k, const X& x, const float* w, long w_step, const Y& y, long column) {
    const float* left[ROWS];
    Lanes sum[ROWS][COLUMNS];
    for (int r = 0; r < ROWS; ++r) {
        left[r] = x(first + r);
        x.prefetch(first + ROWS + r, 0, k);
        y.prefetch(first + ROWS + r, column, column + COLUMNS * LANES);
        for (int c = 0; c < COLUMNS; ++c) sum[r][c] = load(y(first + r) + column + c * LANES);
    }
    for (long i = 0; i < k; ++i) {
        Lanes right[COLUMNS];
        for (int c = 0; c < COLUMNS; ++c) right[c] = load(w + i * w_step + column + c * LANES);
        for (int r = 0; r < ROWS; ++r)
            for (int c = 0; c < COLUMNS; ++c) sum[r][c] += left[r][i] * right[c];
    }
    for (int r = 0; r < ROWS; ++r)
        for (int c = 0; c < COLUMNS; ++c) store(y(first + r) + column + c * LANES, sum[r][c]);
}

template <int COLUMNS, class X, class Y>
FSGC_INLINE void add_product_columns(long rows, long k, const X& x, const float* w, long w_step, const Y& y, long column) {
    constexpr int ROWS = COLUMNS == TILE_VECTORS ? 6 : 8;  // as many sums as there are registers for
    long r = 0;
    for (; r + ROWS <= rows; r += ROWS) add_product_tile<ROWS, COLUMNS>(r, k, x, w, w_step, y, column);
    for (; r + 3 <= rows; r += 3) add_product_tile<3, COLUMNS>(r, k, x, w, w_step, y, column);
    for (; r < rows; ++r) add_product_tile<1, COLUMNS>(r, k, x, w, w_step, y, column);
}

// y [rows, columns] += x [rows, k] w [k, columns]; `columns` is a multiple of LANES.
template <class X, class Y>
static __attribute__((noinline)) void add_product(long rows, long k, long columns, X x, const float* w, Y y) {
    long c = 0;
    for (; c + TILE_VECTORS * LANES <= columns; c += TILE_VECTORS * LANES)
        add_product_columns<TILE_VECTORS>(rows, k, x, w, columns, y, c);
    for (; c + 2 * LANES <= columns; c += 2 * LANES) add_product_columns<2>(rows, k, x, w, columns, y, c);
    for (; c < columns; c += LANES) add_product_columns<1>(rows, k, x, w, columns, y, c);
}

template <int ROWS, int COLUMNS, class X>
FSGC_INLINE void add_outer_tile(long rows, const X& x, long first, const float* g, long g_step, long column, float* w) {
    Lanes sum[ROWS][COLUMNS];
    for (int r = 0; r < ROWS; ++r)
        for (int c = 0; c < COLUMNS; ++c) sum[r][c] = load(w + (first + r) * g_step + column + c * LANES);
    for (long v = 0; v < rows; ++v) {
        const float* left = x(v) + first;
        x.prefetch(v + AHEAD, first, first + 1);
        Lanes right[COLUMNS];
        for (int c = 0; c < COLUMNS; ++c) right[c] = load(g + v * g_step + column + c * LANES);
        for (int r = 0; r < ROWS; ++r)
            for (int c = 0; c < COLUMNS; ++c) sum[r][c] += left[r] * right[c];
    }
    for (int r = 0; r < ROWS; ++r)
        for (int c = 0; c < COLUMNS; ++c) store(w + (first + r) * g_step + column + c * LANES, sum[r][c]);
}

template <int COLUMNS, class X>
FSGC_INLINE void add_outer_columns(long rows, long k, const X& x, const float* g, long g_step, long column, float* w) {
    constexpr int ROWS = COLUMNS == TILE_VECTORS ? 6 : 8;
    long r = 0;
    for (; r + ROWS <= k; r += ROWS) add_outer_tile<ROWS, COLUMNS>(rows, x, r, g, g_step, column, w);
    for (; r + 4 <= k; r += 4) add_outer_tile<4, COLUMNS>(rows, x, r, g, g_step, column, w);
    for (; r < k; ++r) add_outer_tile<1, COLUMNS>(rows, x, r, g, g_step, column, w);
}

// w [k, columns] += the sum over rows of the outer products of x [rows, k] and g [rows, columns].
template <class X>
static __attribute__((noinline)) void add_outer_products(long rows, long k, long columns, X x, const float* g, float* w) {
    long c = 0;
    for (; c + TILE_VECTORS * LANES <= columns; c += TILE_VECTORS * LANES)
        add_outer_columns<TILE_VECTORS>(rows, k, x, g, columns, c, w);
    for (; c + 2 * LANES <= columns; c += 2 * LANES) add_outer_columns<2>(rows, k, x, g, columns, c, w);
    for (; c < columns; c += LANES) add_outer_columns<1>(rows, k, x, g, columns, c, w);
}

}  // namespace fsgc
