// The input features X of a block as linear maps of matrices, and their adjoints; as InputMaps in row_maps.py.
//
// Few features are rows X beside A X, whose products are taken. Of many, a node has one: its code says which, and a
// product with X picks rows.
#pragma once
#include "rows.h"

namespace maml {

// y [rows, d] = C[code of the row] + the sum of D[code] over its neighbours, for C over D, `matrices` [2·F, d].
static void mix_coded(const Block& block, int features, int d, const float* matrices, float* y) {
    const float* others = matrices + static_cast<long>(features) * d;
    for (int v = 0; v < block.rows; ++v)
        for (int c = 0; c < d; c += 4 * LANES) {
            const int lanes = d - c < 4 * LANES ? (d - c) / LANES : 4;
            Lanes sum[4] = {};
            const auto add = [&](const float* row) {
                for (int i = 0; i < 4; ++i)
                    if (i < lanes) sum[i] += load(row + i * LANES);
            };
            for (int64_t e = block.edges[v]; e < block.edges[v + 1]; ++e)
                add(others + block.codes[block.sources[e] - block.starts[0]] * d + c);
            add(matrices + block.codes[v] * d + c);
            for (int i = 0; i < lanes; ++i) store(y + static_cast<long>(v) * d + c + i * LANES, sum[i]);
        }
}

// sums [F, d] += the rows x [rows, d], each in the place of its code.
static void add_by_code(const Block& block, int d, const float* x, float* sums) {
    for (int v = 0; v < block.rows; ++v) add_scaled(d, 1.0f, x + static_cast<long>(v) * d, sums + block.codes[v] * d);
}

// y [rows, d] = X C + A X D for C over D, `matrices` [2·F, d].
static void mixed_inputs(const Block& block, int features, int d, const float* matrices, float* y) {
    if (block.codes)
        mix_coded(block, features, d, matrices, y);
    else
        multiply(block.rows, 2 * features, d, block.inputs, 2 * features, matrices, d, y, d);
}

// sums [2·F, d] += Xᵀ G over Xᵀ A G, for the rows G [rows, d].
static void mixed_inputs_back(const Block& block, int features, int d, const float* rows, float* sums, Arena& arena) {
    if (!block.codes) return adjoint_add(block.rows, 2 * features, d, block.inputs, 2 * features, rows, d, sums, d);
    const Arena::Mark mark = arena.mark();
    float* around = arena.take(static_cast<long>(block.rows) * d);
    mix(block, d, 0.0f, rows, around);
    add_by_code(block, d, rows, sums);
    add_by_code(block, d, around, sums + static_cast<long>(features) * d);
    arena.back_to(mark);
}

// y [rows, d] = X C + b, for C over the row b, `matrix` [F+1, d].
static void plain_inputs(const Block& block, int features, int d, const float* matrix, float* y) {
    repeat(block.rows, d, matrix + static_cast<long>(features) * d, nullptr, y);
    if (!block.codes) return multiply_add(block.rows, features, d, block.inputs, 2 * features, matrix, d, y, d);
    for (int v = 0; v < block.rows; ++v) add_scaled(d, 1.0f, matrix + block.codes[v] * d, y + static_cast<long>(v) * d);
}

// sums [F+1, d] += Xᵀ G over the sum of the rows G [rows, d].
static void plain_inputs_back(const Block& block, int features, int d, const float* rows, float* sums) {
    if (block.codes)
        add_by_code(block, d, rows, sums);
    else
        adjoint_add(block.rows, features, d, block.inputs, 2 * features, rows, d, sums, d);
    add_rows(block.rows, d, rows, nullptr, sums + static_cast<long>(features) * d);
}

}  // namespace maml
