// Linear layers on the rows of a block: forward, back, and the gradient of their weights.
//
// The weights of a layer [in, out] are stored in panels of up to `PANEL` columns, each [in, columns] and contiguous: a
// panel stays in the first cache while all rows pass by it.
#pragma once
#include "../../native/squares.h"

namespace fsgc {

constexpr int PANEL = TILE_VECTORS * LANES;
constexpr int FEW_TERMS = 48;  // so many rows of both factors of a weight gradient stay in the first cache

// Where element (row, column) of weights [rows, columns] is.
FSGC_INLINE long in_panels(int rows, int columns, int row, int column) {
    const int first = column / PANEL * PANEL;
    const int wide = columns - first < PANEL ? columns - first : PANEL;
    return long(first) * rows + long(row) * wide + column - first;
}

FSGC_INLINE Lanes leaky(Lanes value, float slope) {
    const Lanes less = value * slope;
    return value > less ? value : less;
}

// y = leaky(x w + bias) for `ROWS` rows and `COLUMNS` vectors of them.
template <int ROWS, int COLUMNS>
FSGC_INLINE void linear_tile(int k, const float* x, const float* w, int w_step, const float* bias, float slope, float* y, int y_step) {
    Lanes sum[ROWS][COLUMNS] = {};
    for (int i = 0; i < k; ++i) {
        Lanes right[COLUMNS];
        for (int c = 0; c < COLUMNS; ++c) right[c] = load(w + long(i) * w_step + c * LANES);
        for (int r = 0; r < ROWS; ++r) {
            const float left = x[long(r) * k + i];
            for (int c = 0; c < COLUMNS; ++c) sum[r][c] += left * right[c];
        }
    }
    for (int r = 0; r < ROWS; ++r)
        for (int c = 0; c < COLUMNS; ++c)
            store(y + long(r) * y_step + c * LANES, leaky(sum[r][c] + load(bias + c * LANES), slope));
}

template <int COLUMNS>
FSGC_INLINE void linear_columns(int rows, int k, const float* x, const float* w, int w_step, const float* bias, float slope, float* y, int y_step) {
    int r = 0;
    for (; r + 6 <= rows; r += 6)
        linear_tile<6, COLUMNS>(k, x + long(r) * k, w, w_step, bias, slope, y + long(r) * y_step, y_step);
    for (; r + 2 <= rows; r += 2)
        linear_tile<2, COLUMNS>(k, x + long(r) * k, w, w_step, bias, slope, y + long(r) * y_step, y_step);
    if (r < rows) linear_tile<1, COLUMNS>(k, x + long(r) * k, w, w_step, bias, slope, y + long(r) * y_step, y_step);
}

// y [rows, columns] = leaky(x [rows, k] w + bias), w in panels; with slope 1 the leaky ReLU is nothing.
static void linear(int rows, int k, int columns, const float* x, const float* w, const float* bias, float slope, float* y) {
    int first = 0;
    for (; first + PANEL <= columns; first += PANEL)
        linear_columns<TILE_VECTORS>(rows, k, x, w + long(first) * k, PANEL, bias + first, slope, y + first, columns);
    for (int c = first; c < columns; c += LANES)
        linear_columns<1>(rows, k, x, w + long(first) * k + c - first, columns - first, bias + c, slope, y + c, columns);
}

// y [rows, columns] += x [rows, k] w, w in panels.
static inline void add_product(int rows, int k, int columns, const float* x, const float* w, float* y) {
    int first = 0;
    for (; first + PANEL <= columns; first += PANEL)
        column_block<TILE_VECTORS, true>(rows, k, x, k, 1, w + long(first) * k, PANEL, y + first, columns);
    for (int c = first; c < columns; c += LANES)
        column_block<1, true>(rows, k, x, k, 1, w + long(first) * k + c - first, columns - first, y + c, columns);
}

// w += xᵀ e for `ROWS` rows and `COLUMNS` vectors of w: the terms are added up first, so that small ones count.
template <int ROWS, int COLUMNS>
FSGC_INLINE void gradient_tile(int terms, const float* x, int x_step, const float* e, int e_step, float* w, int w_step) {
    Lanes sum[ROWS][COLUMNS] = {};
    for (int i = 0; i < terms; ++i) {
        Lanes right[COLUMNS];
        for (int c = 0; c < COLUMNS; ++c) right[c] = load(e + long(i) * e_step + c * LANES);
        for (int r = 0; r < ROWS; ++r) {
            const float left = x[long(i) * x_step + r];
            for (int c = 0; c < COLUMNS; ++c) sum[r][c] += left * right[c];
        }
    }
    for (int r = 0; r < ROWS; ++r)
        for (int c = 0; c < COLUMNS; ++c) {
            float* to = w + long(r) * w_step + c * LANES;
            store(to, load(to) + sum[r][c]);
        }
}

template <int COLUMNS>
FSGC_INLINE void gradient_columns(int terms, int in, const float* x, const float* e, int e_step, float* w, int w_step) {
    int r = 0;
    for (; r + 6 <= in; r += 6) gradient_tile<6, COLUMNS>(terms, x + r, in, e, e_step, w + long(r) * w_step, w_step);
    for (; r + 2 <= in; r += 2) gradient_tile<2, COLUMNS>(terms, x + r, in, e, e_step, w + long(r) * w_step, w_step);
    if (r < in) gradient_tile<1, COLUMNS>(terms, x + r, in, e, e_step, w + long(r) * w_step, w_step);
}

// w [in, columns], in panels, += x [rows, in]ᵀ e [rows, columns].
static void add_gradient(int rows, int in, int columns, const float* x, const float* e, float* w) {
    for (int row = 0; row < rows; row += FEW_TERMS) {
        const int terms = rows - row < FEW_TERMS ? rows - row : FEW_TERMS;
        const float *left = x + long(row) * in, *right = e + long(row) * columns;
        int first = 0;
        for (; first + PANEL <= columns; first += PANEL)
            gradient_columns<TILE_VECTORS>(terms, in, left, right + first, columns, w + long(first) * in, PANEL);
        for (int c = first; c < columns; c += LANES)
            gradient_columns<1>(terms, in, left, right + c, columns, w + long(first) * in + c - first, columns - first);
    }
}

// sums [columns] += the rows of e [rows, columns].
FSGC_INLINE void add_rows(int rows, int columns, const float* e, float* sums) {
    for (int c = 0; c < columns; c += LANES) {
        Lanes sum = {};
        for (int r = 0; r < rows; ++r) sum += load(e + long(r) * columns + c);
        store(sums + c, load(sums + c) + sum);
    }
}

// Weights [in, out] turned to [out, in], both in panels and multiples of LANES.
static void turn(int in, int out, const float* w, float* turned) {
    for (int i = 0; i < in; i += LANES)
        for (int o = 0; o < out; o += LANES) {
            Lanes row[LANES];
            for (int r = 0; r < LANES; ++r) row[r] = load(w + in_panels(in, out, i + r, o));
            turn_square(row);
            for (int r = 0; r < LANES; ++r) store(turned + in_panels(out, in, o + r, i), row[r]);
        }
}

}  // namespace fsgc
