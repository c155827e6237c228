// A training pass of a GIN with batch norm and its gradient, layer by layer, some graphs at a time.
//
// Layer l: e = ((1 + ε) h_v + Σ h_u) W1, a = relu(norm(e)), c = a W2, h = relu(norm(c)), and h's sums over graphs. A norm
// needs the statistics of all rows, so that a layer is two passes over the blocks, each way; within one a block stays in
// cache. e and c are kept, a and h are worked out again. The biases of W1 and W2 go into running means and nowhere else:
// batch norm takes them away.
#include "../../native/processor.h"
#include <cstdint>
#include <cstring>
#include <vector>
FSGC_FOR_PROCESSOR
#include "gin_pass_kernel.h"

using namespace fsgc;

namespace {

// Functions of their own, not inlined: they stand in several places or are long.
void multiply(int n, int k, int d, const float* x, const float* weight, float* y) {
    product<false>(n, k, d, x, k, 1, weight, d, y, d);
}
void add_outer_products(int n, int wide, int d, const float* x, const float* grad, float* at_weight) {
    product<true>(wide, n, d, x, 1, wide, grad, d, at_weight, d);
}
void norm_relu(long n, int d, const float* x, const Affine& by, float* y) {
    each_columns(d, NormRelu{n, d, x, by, y});
}
void relu_back(long n, int d, const float* x, const Affine& by, float* grad, NormGradient& of) {
    each_columns(d, ReluBack{n, d, x, by, grad, of.sums.data(), of.along.data()});
}
void norm_back(long n, int d, const float* grad, const float* x, const Affine& by, const NormGradient& of, float* at_x) {
    each_columns(d, NormBack{n, d, grad, x, by, of.by_mean.data(), of.by_deviation.data(), at_x});
}
void add_moments(long n, int d, const float* x, Moments& to) {
    each_columns(d, AddMoments{n, d, x, to.count, to.mean.data(), to.squares.data()});
    to.count += static_cast<double>(n);
}

struct Network {  // its layers, and what they keep for the way back
    const PassCall& call;
    const Layer* layers;

    float* norm(long l, bool outer) const { return call.kept + (2 * l + outer) * 4 * call.width; }
    Affine by(long l, bool outer) const { return affine(norm(l, outer), static_cast<int>(call.width)); }
    float* entered(long l, bool outer) const { return call.kept + (8 * call.convs + (2 * l + outer) * call.rows) * call.width; }
    float* gradient() const { return entered(call.convs, false); }
};

FSGC_INLINE void transpose(long rows, long columns, const float* from, float* to) {
    for (long i = 0; i < rows; ++i)
        for (long j = 0; j < columns; ++j) to[j * rows + i] = from[i * columns + j];
}

// What lies in front of layer l's inner norm, e; the layer below is read out on the way.
FSGC_INLINE void enter_layer(const Graphs& graphs, const Network& network, long l, std::vector<float>& turned, float* h, float* mixed) {
    const PassCall& call = graphs.call;
    const Layer& layer = network.layers[l];
    const int d = graphs.d, wide = l ? d : static_cast<int>(call.inputs);
    Moments moments(d);
    if (layer.first) transpose(d, wide, layer.first, turned.data());
    for (const Block& block : graphs.blocks) {
        float* e = network.entered(l, false) + block.first * d;
        if (l) {
            norm_relu(block.rows, d, network.entered(l - 1, true) + block.first * d, network.by(l - 1, true), h);
            graphs.read_out(block, l - 1, h);
            graphs.mixed(block, layer.eps, h, mixed);
        } else if (wide) {
            graphs.mixed_features(block, layer.eps, mixed);
        }
        if (layer.first) multiply(static_cast<int>(block.rows), wide, d, mixed, turned.data(), e);
        else std::memcpy(e, call.entry + block.first * d, sizeof(float) * block.rows * d);
        add_moments(block.rows, d, e, moments);
    }
    learn(layer.inner, moments, d, layer.first_bias, network.norm(l, false));
}

FSGC_INLINE void finish_layer(const Graphs& graphs, const Network& network, long l, std::vector<float>& turned, float* a) {
    const Layer& layer = network.layers[l];
    const int d = graphs.d;
    Moments moments(d);
    transpose(d, d, layer.second, turned.data());
    for (const Block& block : graphs.blocks) {
        float* c = network.entered(l, true) + block.first * d;
        norm_relu(block.rows, d, network.entered(l, false) + block.first * d, network.by(l, false), a);
        multiply(static_cast<int>(block.rows), d, d, a, turned.data(), c);
        add_moments(block.rows, d, c, moments);
    }
    learn(layer.outer, moments, d, layer.second_bias, network.norm(l, true));
}

// The gradient behind the outer norm to that behind the inner one, in place, and W2's.
FSGC_INLINE void back_to_inner(const Graphs& graphs, const Network& network, long l, const Gradient& to, const NormGradient& outer, NormGradient& inner, float* a, float* at_c) {
    const int d = graphs.d;
    for (const Block& block : graphs.blocks) {
        const int n = static_cast<int>(block.rows);
        float* grad = network.gradient() + block.first * d;
        const float *e = network.entered(l, false) + block.first * d, *c = network.entered(l, true) + block.first * d;
        norm_back(n, d, grad, c, network.by(l, true), outer, at_c);
        norm_relu(n, d, e, network.by(l, false), a);
        add_outer_products(n, d, d, at_c, a, to.second);
        multiply(n, d, d, at_c, network.layers[l].second, grad);
        relu_back(n, d, e, network.by(l, false), grad, inner);
    }
}

// The gradient behind the inner norm of layer l to that behind the outer one of the layer below, in place; W1's and ε's.
FSGC_INLINE void back_to_below(const Graphs& graphs, const Network& network, long l, const Gradient& to, const NormGradient& inner, NormGradient& below, float* h, float* at_e, float* mixed) {
    const Layer& layer = network.layers[l];
    const int d = graphs.d;
    constexpr int SUMS = FILL / LANES;  // as many numbers are summed side by side on every processor
    Lanes at_eps[SUMS] = {};
    for (const Block& block : graphs.blocks) {
        const int n = static_cast<int>(block.rows);
        float* grad = network.gradient() + block.first * d;
        const float *e = network.entered(l, false) + block.first * d, *c = network.entered(l - 1, true) + block.first * d;
        norm_back(n, d, grad, e, network.by(l, false), inner, at_e);
        norm_relu(n, d, c, network.by(l - 1, true), h);
        graphs.mixed(block, layer.eps, h, mixed);
        add_outer_products(n, d, d, at_e, mixed, to.first);
        multiply(n, d, d, at_e, layer.first, mixed);
        if (to.eps)
            for (long i = 0; i < block.rows * d; i += FILL)
                for (int j = 0; j < SUMS; ++j) at_eps[j] += load(mixed + i + j * LANES) * load(h + i + j * LANES);
        graphs.mixed(block, layer.eps, mixed, grad);  // the adjacency is symmetric: a sum over neighbours is its own adjoint
        graphs.read_out_back<true>(block, l - 1, grad);
        relu_back(n, d, c, network.by(l - 1, true), grad, below);
    }
    if (to.eps) *to.eps = total(SUMS == 1 ? at_eps[0] : at_eps[0] + at_eps[SUMS - 1]);
}

// The gradient behind the first inner norm to that at the given rows, or at W1 and ε.
FSGC_INLINE void back_to_inputs(const Graphs& graphs, const Network& network, const Gradient& to, const NormGradient& inner, float* x, float* at_e) {
    const PassCall& call = graphs.call;
    const int d = graphs.d, wide = static_cast<int>(call.inputs);
    std::vector<float> by_mixed(wide * d), by_own(to.eps ? wide * d : 0);  // turned
    for (const Block& block : graphs.blocks) {
        const int n = static_cast<int>(block.rows);
        const float *grad = network.gradient() + block.first * d, *e = network.entered(0, false) + block.first * d;
        norm_back(n, d, grad, e, network.by(0, false), inner, wide ? at_e : call.grad_entry + block.first * d);
        if (!wide) continue;
        graphs.mixed_features(block, network.layers[0].eps, x);
        add_outer_products(n, wide, d, x, at_e, by_mixed.data());
        if (!to.eps) continue;
        graphs.copy_features(block, x);
        add_outer_products(n, wide, d, x, at_e, by_own.data());
    }
    if (!wide) return;
    transpose(wide, d, by_mixed.data(), to.first);
    if (!to.eps) return;
    float at_eps = 0;
    for (long i = 0; i < wide; ++i)
        for (long c = 0; c < d; ++c) at_eps += by_own[i * d + c] * network.layers[0].first[c * wide + i];
    *to.eps = at_eps;
}

long widest(const PassCall& call) { return call.inputs > call.width ? call.inputs : call.width; }

}  // namespace

extern "C" void gin_pass_forward(const PassCall* call, const Layer* layers) {
    const Graphs graphs(*call);
    const Network network{*call, layers};
    const long size = graphs.most_rows * widest(*call);
    std::vector<float> turned(call->width * widest(*call)), rows(2 * size);
    float *first = rows.data(), *second = first + size;
    for (long l = 0; l < call->convs; ++l) {
        enter_layer(graphs, network, l, turned, first, second);
        finish_layer(graphs, network, l, turned, first);
    }
    const long last = call->convs - 1;
    for (const Block& block : graphs.blocks) {
        norm_relu(block.rows, graphs.d, network.entered(last, true) + block.first * graphs.d, network.by(last, true), first);
        graphs.read_out(block, last, first);
    }
}

extern "C" void gin_pass_backward(const PassCall* call, const Layer* layers) {
    const Graphs graphs(*call);
    const Network network{*call, layers};
    const std::vector<Gradient> grads = gradients(*call, layers);
    const int d = graphs.d;
    const long size = graphs.most_rows * widest(*call), last = call->convs - 1;
    std::vector<float> rows(3 * size);
    float *first = rows.data(), *second = first + size, *third = second + size;
    NormGradient outer(d), inner(d);
    for (const Block& block : graphs.blocks) {
        float* grad = network.gradient() + block.first * d;
        graphs.read_out_back<false>(block, last, grad);
        relu_back(block.rows, d, network.entered(last, true) + block.first * d, network.by(last, true), grad, outer);
    }
    for (long l = last; l >= 0; --l) {
        const Gradient& to = grads[l];
        outer.finish(network.by(l, true), call->rows, d, to.outer_weight, to.outer_bias);
        back_to_inner(graphs, network, l, to, outer, inner, first, second);
        inner.finish(network.by(l, false), call->rows, d, to.inner_weight, to.inner_bias);
        if (l) back_to_below(graphs, network, l, to, inner, outer, first, second, third);
        else back_to_inputs(graphs, network, to, inner, first, second);
    }
}
