// LayerNorm, ReLU and pooling of node rows, with first and second derivatives; the formulas are those of read_out.py.
//
// Rows come with the mean over their features taken off. ReLU's result is not kept: it is one operation from `unit`.
#pragma once
#include "rows.h"

namespace maml {

struct Read {
    float* unit;           // u, [n, d]
    float* root;           // r, [n]; as a tangent -dr / r
    float* grad;           // the gradient before LayerNorm, [n, d]
    float* slope;          // k, [n]
    float *pooled, *at_pooled;  // z and the gradient there, [g, d]
};

FSGC_INLINE float share_of(const Block& block, int graph, bool mean) {
    const int nodes = block.end(graph) - block.begin(graph);
    return mean && nodes ? 1.0f / static_cast<float>(nodes) : 1.0f;
}

// `at.unit`, which holds t, becomes u; fills root and pooled.
static void read_forward(const Block& block, int d, bool mean, const float* weights, const Read& at) {
    for (int g = 0; g < block.graphs; ++g) {
        float* pooled = at.pooled + static_cast<long>(g) * d;
        for (int c = 0; c < d; c += LANES) store(pooled + c, Lanes{});
        for (int r = block.begin(g); r < block.end(g); ++r) {
            float* row = at.unit + static_cast<long>(r) * d;
            Lanes squares{};
            for (int c = 0; c < d; c += LANES) squares += load(row + c) * load(row + c);
            const float root = 1.0f / __builtin_sqrtf(sum_of(squares) / static_cast<float>(d) + EPS);
            at.root[r] = root;
            for (int c = 0; c < d; c += LANES) {
                const Lanes unit = load(row + c) * root;
                store(row + c, unit);
                store(pooled + c, load(pooled + c) + relu(unit * load(weights + c) + load(weights + d + c)));
            }
        }
        const float share = share_of(block, g, mean);
        for (int c = 0; c < d; c += LANES) store(pooled + c, load(pooled + c) * share);
    }
}

// `at.at_pooled` to the gradient at t, `at.grad`; fills slope and adds the gradient of the weights to `found`, [2, d].
static void read_backward(const Block& block, int d, bool mean, const float* weights, const Read& at, float* found) {
    for (int g = 0; g < block.graphs; ++g) {
        const float share = share_of(block, g, mean);
        const float* above = at.at_pooled + static_cast<long>(g) * d;
        for (int r = block.begin(g); r < block.end(g); ++r) {
            const float* row = at.unit + static_cast<long>(r) * d;
            float* grad = at.grad + static_cast<long>(r) * d;
            Lanes along{};
            for (int c = 0; c < d; c += LANES) {
                const Lanes unit = load(row + c), scale = load(weights + c);
                const Lanes passed = past_relu(unit * scale + load(weights + d + c), load(above + c) * share);
                const Lanes product = passed * unit;
                store(found + c, load(found + c) + product);
                store(found + d + c, load(found + d + c) + passed);
                store(grad + c, passed * scale);
                along += product * scale;
            }
            const float slope = sum_of(along) / static_cast<float>(d);
            at.slope[r] = slope;
            for (int c = 0; c < d; c += LANES)
                store(grad + c, (load(grad + c) - load(row + c) * slope) * at.root[r]);
        }
    }
}

// Tangents: `by.unit`, which holds that of t, to those of u and z and to -dr / r; `steps` are those of the weights.
static void read_push(const Block& block, int d, bool mean, const float* weights, const Read& at, const float* steps, const Read& by) {
    for (int g = 0; g < block.graphs; ++g) {
        float* pooled = by.pooled + static_cast<long>(g) * d;
        for (int c = 0; c < d; c += LANES) store(pooled + c, Lanes{});
        for (int r = block.begin(g); r < block.end(g); ++r) {
            const float* row = at.unit + static_cast<long>(r) * d;
            float* tangent = by.unit + static_cast<long>(r) * d;
            Lanes along{};
            for (int c = 0; c < d; c += LANES) {
                const Lanes unit = load(tangent + c) * at.root[r];
                store(tangent + c, unit);
                along += load(row + c) * unit;
            }
            const float shrink = sum_of(along) / static_cast<float>(d);
            by.root[r] = shrink;
            for (int c = 0; c < d; c += LANES) {
                const Lanes at_unit = load(row + c), unit = load(tangent + c) - at_unit * shrink;
                const Lanes scale = load(weights + c), result = at_unit * scale + load(weights + d + c);
                store(tangent + c, unit);
                const Lanes step = unit * scale + at_unit * load(steps + c) + load(steps + d + c);
                store(pooled + c, load(pooled + c) + past_relu(result, step));
            }
        }
        const float share = share_of(block, g, mean);
        for (int c = 0; c < d; c += LANES) store(pooled + c, load(pooled + c) * share);
    }
}

// `by.at_pooled`, the tangent of the gradient at z, to that of the gradient at t, `by.grad`; adds to `found` as above.
static void read_push_back(const Block& block, int d, bool mean, const float* weights, const Read& at, const float* steps, const Read& by, float* found) {
    for (int g = 0; g < block.graphs; ++g) {
        const float share = share_of(block, g, mean);
        const float *at_above = at.at_pooled + static_cast<long>(g) * d, *above = by.at_pooled + static_cast<long>(g) * d;
        for (int r = block.begin(g); r < block.end(g); ++r) {
            const long start = static_cast<long>(r) * d;
            const float *row = at.unit + start, *tangent = by.unit + start, *at_grad = at.grad + start;
            float* grad = by.grad + start;
            Lanes along{};
            for (int c = 0; c < d; c += LANES) {
                const Lanes at_unit = load(row + c), unit = load(tangent + c);
                const Lanes scale = load(weights + c), d_scale = load(steps + c);
                const Lanes result = at_unit * scale + load(weights + d + c);
                const Lanes at_passed = past_relu(result, load(at_above + c) * share);
                const Lanes passed = past_relu(result, load(above + c) * share);
                const Lanes product = passed * at_unit + at_passed * unit;
                store(found + c, load(found + c) + product);
                store(found + d + c, load(found + d + c) + passed);
                along += product * scale + at_passed * at_unit * d_scale;
                store(grad + c, passed * scale + at_passed * d_scale - unit * at.slope[r]);
            }
            const float slope = sum_of(along) / static_cast<float>(d);
            for (int c = 0; c < d; c += LANES) {
                const Lanes inner = load(grad + c) - load(row + c) * slope;
                store(grad + c, inner * at.root[r] - load(at_grad + c) * by.root[r]);
            }
        }
    }
}

}  // namespace maml
