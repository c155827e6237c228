// GraphNorm and ReLU of node rows, with first and second derivatives; the formulas are those of norm_relu.py.
//
// All arrays of rows are [n, d], those of graphs [g, d], weights [4, d]: b, w, s, a. A graph's rows of sixteen columns
// stay in the first-level cache, so each function is a few passes over those.
#pragma once
#include "rows.h"

namespace maml {

struct Norm {
    float *unit, *result;  // u and y, of rows
    float *mean, *root;    // m and r, of graphs
    float* passed;         // G, the gradient past ReLU, of rows
    float *slope, *level;  // k and e, of graphs

    // The same arrays hold tangents in the second-order passes; `root` is then -dr / r.
};

// Which rows and columns a pass is about, and where the values of their graph are.
struct Patch {
    int begin, end;
    long at_graph;
    float count;
};

template <typename Function>
FSGC_INLINE void each_patch(const Block& block, int d, Function function) {
    for (int g = 0; g < block.graphs; ++g) {
        const int begin = block.begin(g), end = block.end(g);
        const float count = end > begin ? static_cast<float>(end - begin) : 1.0f;
        for (int c = 0; c < d; c += LANES) function(Patch{begin, end, static_cast<long>(g) * d + c, count}, c);
    }
}

FSGC_INLINE void add_to(float* sum, Lanes value) { store(sum, load(sum) + value); }

// Rows `at.unit`, which hold x and become u; fills result, mean and root.
static void norm_forward(const Block& block, int d, const float* weights, const Norm& at) {
    each_patch(block, d, [&](Patch p, int c) __attribute__((always_inline)) {
        const Lanes before = load(weights + c), scale = load(weights + d + c);
        const Lanes after = load(weights + 2 * d + c), mean_scale = load(weights + 3 * d + c);
        // Counted from the first row, so that equal rows are their mean exactly.
        const Lanes origin = p.begin < p.end ? load(at.unit + p.begin * d + c) : Lanes{};
        Lanes sum{}, squares{};
        for (int r = p.begin; r < p.end; ++r) sum += load(at.unit + r * d + c) - origin;
        const Lanes mean = origin + sum / p.count, shift = mean * mean_scale + before * (mean_scale - 1.0f);
        for (int r = p.begin; r < p.end; ++r) {
            const Lanes centred = load(at.unit + r * d + c) - shift;
            squares += centred * centred;
        }
        const Lanes root = inverse_root(squares / p.count + EPS);
        for (int r = p.begin; r < p.end; ++r) {
            const Lanes unit = (load(at.unit + r * d + c) - shift) * root;
            store(at.unit + r * d + c, unit);
            store(at.result + r * d + c, relu(unit * scale + after));
        }
        store(at.mean + p.at_graph, mean + before);
        store(at.root + p.at_graph, root);
    });
}

// `at.passed`, which holds the gradient at y, to the gradient at x, `rows`; adds that of the weights to `found`.
static void norm_backward(const Block& block, int d, const float* weights, const Norm& at, float* rows, float* found) {
    each_patch(block, d, [&](Patch p, int c) __attribute__((always_inline)) {
        const Lanes scale = load(weights + d + c), mean_scale = load(weights + 3 * d + c);
        const Lanes mean = load(at.mean + p.at_graph), root = load(at.root + p.at_graph);
        Lanes total{}, slope{};
        for (int r = p.begin; r < p.end; ++r) {
            const Lanes passed = past_relu(load(at.result + r * d + c), load(at.passed + r * d + c));
            store(at.passed + r * d + c, passed);
            total += passed;
            slope += passed * load(at.unit + r * d + c);
        }
        add_to(found + d + c, slope);
        add_to(found + 2 * d + c, total);
        slope /= p.count;
        const Lanes level = total / p.count - root * (1.0f - mean_scale) * mean * slope;
        const Lanes factor = root * scale, shift = level * mean_scale;
        for (int r = p.begin; r < p.end; ++r) {
            const Lanes inner = load(at.passed + r * d + c) - load(at.unit + r * d + c) * slope - shift;
            store(rows + r * d + c, inner * factor);
        }
        const Lanes of_centred = p.count * factor * level;
        add_to(found + c, of_centred * (1.0f - mean_scale));
        add_to(found + 3 * d + c, -of_centred * mean);
        store(at.slope + p.at_graph, slope);
        store(at.level + p.at_graph, level);
    });
}

// Tangents: `by.unit`, which holds that of x, to those of u, y, m and to -dr / r; `steps` are those of the weights.
static void norm_push(const Block& block, int d, const float* weights, const Norm& at, const float* steps, const Norm& by) {
    each_patch(block, d, [&](Patch p, int c) __attribute__((always_inline)) {
        const Lanes scale = load(weights + d + c), mean_scale = load(weights + 3 * d + c);
        const Lanes d_before = load(steps + c), d_scale = load(steps + d + c);
        const Lanes d_after = load(steps + 2 * d + c), d_mean_scale = load(steps + 3 * d + c);
        const Lanes root = load(at.root + p.at_graph);
        Lanes sum{}, along{};
        for (int r = p.begin; r < p.end; ++r) sum += load(by.unit + r * d + c);
        const Lanes mean = sum / p.count + d_before;
        const Lanes shift = mean * mean_scale + load(at.mean + p.at_graph) * d_mean_scale - d_before;
        for (int r = p.begin; r < p.end; ++r) {
            const Lanes unit = (load(by.unit + r * d + c) - shift) * root;
            store(by.unit + r * d + c, unit);
            along += load(at.unit + r * d + c) * unit;
        }
        const Lanes shrink = along / p.count;
        for (int r = p.begin; r < p.end; ++r) {
            const Lanes at_unit = load(at.unit + r * d + c), unit = load(by.unit + r * d + c) - at_unit * shrink;
            store(by.unit + r * d + c, unit);
            store(by.result + r * d + c, past_relu(load(at.result + r * d + c), unit * scale + at_unit * d_scale + d_after));
        }
        store(by.mean + p.at_graph, mean);
        store(by.root + p.at_graph, shrink);
    });
}

// `by.passed`, the tangent of the gradient at y, to that of the gradient at x, in place; adds to `found` as above.
static void norm_push_back(const Block& block, int d, const float* weights, const Norm& at, const float* steps, const Norm& by, float* found) {
    each_patch(block, d, [&](Patch p, int c) __attribute__((always_inline)) {
        const Lanes scale = load(weights + d + c), mean_scale = load(weights + 3 * d + c), kept = 1.0f - mean_scale;
        const Lanes d_scale = load(steps + d + c), d_mean_scale = load(steps + 3 * d + c);
        const Lanes mean = load(at.mean + p.at_graph), root = load(at.root + p.at_graph);
        const Lanes at_slope = load(at.slope + p.at_graph), at_level = load(at.level + p.at_graph);
        const Lanes d_mean = load(by.mean + p.at_graph), d_root = -root * load(by.root + p.at_graph);
        Lanes total{}, slope{};
        for (int r = p.begin; r < p.end; ++r) {
            const Lanes passed = past_relu(load(at.result + r * d + c), load(by.passed + r * d + c));
            store(by.passed + r * d + c, passed);
            total += passed;
            slope += passed * load(at.unit + r * d + c) + load(at.passed + r * d + c) * load(by.unit + r * d + c);
        }
        add_to(found + d + c, slope);
        add_to(found + 2 * d + c, total);
        slope /= p.count;
        const Lanes d_unit_mean = d_root * kept * mean + root * (kept * d_mean - d_mean_scale * mean);
        const Lanes level = total / p.count - d_unit_mean * at_slope - root * kept * mean * slope;
        const Lanes at_factor = root * scale, factor = d_root * scale + root * d_scale;
        const Lanes at_shift = at_level * mean_scale, shift = d_mean_scale * at_level + mean_scale * level;
        for (int r = p.begin; r < p.end; ++r) {
            const Lanes unit = load(at.unit + r * d + c);
            const Lanes at_inner = load(at.passed + r * d + c) - unit * at_slope - at_shift;
            const Lanes inner = load(by.passed + r * d + c) - shift - load(by.unit + r * d + c) * at_slope - unit * slope;
            store(by.passed + r * d + c, inner * at_factor + at_inner * factor);
        }
        const Lanes at_centred = p.count * at_factor * at_level;
        const Lanes of_centred = p.count * (factor * at_level + at_factor * level);
        add_to(found + c, of_centred * kept - at_centred * d_mean_scale);
        add_to(found + 3 * d + c, -of_centred * mean - at_centred * d_mean);
    });
}

}  // namespace maml
