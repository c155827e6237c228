// The part of a GIN embedder that works on node rows, some graphs at a time, so that all of it stays in the cache.
//
// e_0 is given. For every convolution l: c = W2 relu(GraphNorm(e)) + b2 (or c = e where an MLP has one layer), h =
// dropout(act(γ c + β)), e_(l+1) = W1 ((1 + ε) h_v + Σ h_u) + b1. Then t = j + Σ J_l h_l, j being given, and the read-out
// of t. Weights lie as [in, out]. Where nothing nonlinear stands between W2 and W1, `folded_kernel.cpp` does less.
#include "../native/processor.h"
#include <cstdint>
#include <cstring>
#include <memory>
#include <vector>
FSGC_FOR_PROCESSOR
#include "read_out.h"

using namespace fsgc;

extern "C" struct GinCall {
    int64_t width, convs, mlp_layers, relu, columns;  // columns of the matrix of variances
    int64_t begin, end;                               // the copies to do
    Copies copies;
    const float *entry, *jump;                        // [m, d]
    const float *gamma, *beta;                        // [E, L, d], or null
    float *weights, *spread;
    float *saved;                                     // [n, slots, d], or null
    float *sums, *variances;
    uint64_t seed;
    int64_t levels, dropped;
    double scale;
    const float *grad_sums, *grad_variances;
    float *grad_entry, *grad_jump, *grad_gamma, *grad_beta, *grad_weights, *grad_spread;
};

namespace {

struct Conv {
    float *first, *first_bias, *own;  // W1, b1, 1 + ε; null for the first convolution
    GraphNorm norm;                   // null where MLPs have one layer
    float *second, *second_bias;
    float *jump;
};

struct Network {
    Conv convs[MOST_CONVS];
    float *norm_weight, *norm_bias;
};

FSGC_INLINE Network laid_out(const GinCall& call, float* at) {
    const long d = call.width;
    const auto take = [&](long count) FSGC_INLINED { float* part = at; at += count; return part; };
    Network network{};
    for (int l = 0; l < call.convs; ++l) {
        Conv& conv = network.convs[l];
        if (l) {
            conv.first = take(d * d);
            conv.first_bias = take(d);
            conv.own = take(1);
        }
        if (call.mlp_layers == 2) {
            conv.norm = {take(d), take(d), take(d)};
            conv.second = take(d * d);
            conv.second_bias = take(d);
        }
        conv.jump = take(d * d);
    }
    network.norm_weight = take(d);
    network.norm_bias = take(d);
    return network;
}

FSGC_INLINE void repeat_row(long n, int d, const float* row, float* to) {
    for (long r = 0; r < n; ++r) std::memcpy(to + r * d, row, sizeof(float) * d);
}

struct Pass {  // a block and where its numbers are
    const GinCall& call;
    const Network& network;
    const Dropout dropout;
    const Block& block;

    FSGC_INLINE int width() const { return static_cast<int>(call.width); }
    FSGC_INLINE long rows() const { return block.rows(); }
    FSGC_INLINE long slots() const { return call.mlp_layers == 2 ? 2 * call.convs : call.convs; }

    // Which of an array's rows are kept for the way back: e_1, …; c_0, … (c_0 only where it is not e_0); the last is t.
    FSGC_INLINE long slot_of_entering(int l) const { return l - 1; }
    FSGC_INLINE long slot_of_convolved(int l) const { return call.mlp_layers == 2 ? call.convs - 1 + l : l - 1; }

    FSGC_INLINE float* kept(long slot) const {  // the block's rows of one slot lie together
        return call.saved + (block.first_row() * slots() + slot * rows()) * call.width;
    }
    FSGC_INLINE float* kept_or(long slot, float* otherwise) const { return call.saved ? kept(slot) : otherwise; }

    FSGC_INLINE void gather(const float* from, float* to) const {
        const int d = width();
        block.each_graph([&](long, long row, long n, long node) FSGC_INLINED {
            std::memcpy(to + row * d, from + node * d, sizeof(float) * n * d);
        });
    }
    FSGC_INLINE void scatter(const float* from, float* to) const {
        const int d = width();
        block.each_graph([&](long, long row, long n, long node) FSGC_INLINED {
            for (long i = 0; i < n * d; i += LANES) add_to(to + node * d + i, load(from + row * d + i));
        });
    }
    FSGC_INLINE void multiply_and_add(float* x, const float* weight, float* y) const {
        add_product(rows(), width(), width(), Rows{x, width()}, weight, Rows{y, width()});
    }
    FSGC_INLINE void multiply(float* x, const float* weight, float* y) const {
        fill(rows() * width(), y);
        multiply_and_add(x, weight, y);
    }
    FSGC_INLINE void weight_gradient(float* x, const float* grad, float* at_weight) const {
        add_outer_products(rows(), width(), width(), Rows{x, width()}, grad, at_weight);
    }

    // function(place of a row, its factors) with those of dropout, the same whenever they are asked for.
    template <class Function>
    FSGC_INLINE void each_row(int l, Function function) const {
        const int d = width();
        std::vector<float> factors(d, 1.0f);
        for (long r = 0; r < rows(); ++r) {
            const uint64_t number = static_cast<uint64_t>(block.first_row() + r) * call.convs + l;  // among all layers' rows
            if (dropout.levels) dropout_factors(dropout, number, d, factors.data());
            function(r * d, factors.data());
        }
    }

    // h = dropout(act(γ c + β)); from nothing but c, so that the way back can ask for it again.
    FSGC_INLINE void activated(int l, const float* c, float* h) const {
        const int d = width();
        const long film = (block.episode() * call.convs + l) * d;
        each_row(l, [&](long at, const float* factors) FSGC_INLINED {
            for (int col = 0; col < d; col += LANES) {
                Lanes y = load(c + at + col);
                if (call.gamma) y = y * load(call.gamma + film + col) + load(call.beta + film + col);
                if (call.relu) y = positive(y);
                store(h + at + col, y * load(factors + col));
            }
        });
    }

    // The gradient at h to that at c, in place.
    FSGC_INLINE void activated_back(int l, const float* c, float* grad) const {
        const int d = width();
        const long film = (block.episode() * call.convs + l) * d;
        each_row(l, [&](long at, const float* factors) FSGC_INLINED {
            for (int col = 0; col < d; col += LANES) {
                const Lanes x = load(c + at + col);
                Lanes g = load(grad + at + col) * load(factors + col);
                if (call.relu) {
                    const Lanes y = call.gamma ? x * load(call.gamma + film + col) + load(call.beta + film + col) : x;
                    g = y > 0.0f ? g : Lanes{};
                }
                if (call.gamma) {
                    add_to(call.grad_gamma + film + col, g * x);
                    add_to(call.grad_beta + film + col, g);
                    g = g * load(call.gamma + film + col);
                }
                store(grad + at + col, g);
            }
        });
    }

    FSGC_INLINE ReadOut read(float* y, float* z) const {
        const long c = call.columns;
        return {network.norm_weight, network.norm_bias, call.sums, static_cast<int>(c), call.spread + block.episode() * call.width * c, call.variances, y, z};
    }
};

FSGC_INLINE Dropout dropout_of(const GinCall& call) {
    return {call.seed, static_cast<int>(call.levels), static_cast<int>(call.dropped), static_cast<float>(call.scale)};
}

FSGC_INLINE void forward_block(const Pass& pass, const Buffers& buffers) {
    const GinCall& call = pass.call;
    const int d = pass.width();
    float *r = buffers[1], *h = buffers[2], *t = pass.kept_or(pass.slots() - 1, buffers[3]);
    pass.gather(call.jump, t);
    for (int l = 0; l < call.convs; ++l) {
        const Conv& conv = pass.network.convs[l];
        const bool linear = call.mlp_layers < 2;
        float* e = buffers[0];  // e_0 can be had again
        if (l == 0) {
            pass.gather(call.entry, e);
        } else {
            e = pass.kept_or(linear ? pass.slot_of_convolved(l) : pass.slot_of_entering(l), e);
            pass.block.mixed(d, h, *conv.own, r);
            repeat_row(pass.rows(), d, conv.first_bias, e);
            pass.multiply_and_add(r, conv.first, e);
        }
        float* c = e;
        if (!linear) {
            c = pass.kept_or(pass.slot_of_convolved(l), buffers[4]);
            pass.block.normed(d, e, conv.norm, r);
            repeat_row(pass.rows(), d, conv.second_bias, c);
            pass.multiply_and_add(r, conv.second, c);
        }
        pass.activated(l, c, h);
        pass.multiply_and_add(h, conv.jump, t);
    }
    read_out(pass.block, d, t, pass.read(buffers[0], buffers[1]));
}

// `turned` are the weights of each convolution the other way round, W1, W2, J; `spread` that of the episode's variances.
FSGC_INLINE void backward_block(const Pass& pass, const Network& grads, const float* turned, const float* spread, const Buffers& buffers) {
    const GinCall& call = pass.call;
    const Block& block = pass.block;
    const int d = pass.width(), last = static_cast<int>(call.convs) - 1;
    float *dt = buffers[0], *grad = buffers[1], *r = buffers[2], *dm = buffers[3], *e = buffers[4];
    const auto h = [&](int l) FSGC_INLINED { return buffers[5 + l]; };
    const ReadOutGradients at_read{call.grad_sums, call.grad_variances, grads.norm_weight, grads.norm_bias,
                                   call.grad_spread + block.episode() * d * call.columns, spread};
    read_out_back(block, d, pass.kept(pass.slots() - 1), pass.read(r, dm), at_read, dt);
    pass.gather(call.entry, e);
    const auto convolved = [&](int l) FSGC_INLINED {
        return l || call.mlp_layers == 2 ? pass.kept(pass.slot_of_convolved(l)) : e;
    };
    for (int l = 0; l <= last; ++l) pass.activated(l, convolved(l), h(l));
    pass.scatter(dt, call.grad_jump);
    for (int l = last; l >= 0; --l) {
        const Conv &conv = pass.network.convs[l], &at = grads.convs[l];
        const float *first = turned + 3 * l * d * d, *second = first + d * d, *jump = second + d * d;
        pass.weight_gradient(h(l), dt, at.jump);
        if (l == last) pass.multiply(dt, jump, grad);
        else pass.multiply_and_add(dt, jump, grad);
        pass.activated_back(l, convolved(l), grad);
        if (call.mlp_layers == 2) {
            const float* entering = l ? pass.kept(pass.slot_of_entering(l)) : e;
            block.normed(d, entering, conv.norm, r);
            pass.weight_gradient(r, grad, at.second);
            add_column_sums(pass.rows(), d, grad, at.second_bias);
            pass.multiply(grad, second, dm);
            block.normed_back(d, entering, conv.norm, at.norm, dm);
            std::swap(dm, grad);
        }
        if (l == 0) {
            pass.scatter(grad, call.grad_entry);
            break;
        }
        block.mixed(d, h(l - 1), *conv.own, r);
        pass.weight_gradient(r, grad, at.first);
        add_column_sums(pass.rows(), d, grad, at.first_bias);
        pass.multiply(grad, first, dm);
        Lanes own{};
        for (long i = 0; i < pass.rows() * d; i += LANES) own += load(dm + i) * load(h(l - 1) + i);
        *at.own += total(own);
        block.mixed(d, dm, *conv.own, grad);  // the adjacency is symmetric: a sum over neighbours is its own adjoint
    }
}

}  // namespace

extern "C" void gin_forward(const GinCall* given) {
    const GinCall& call = *given;
    const Network network = laid_out(call, call.weights);
    const Buffers buffers(5, most_rows(call.copies, call.begin, call.end), call.width);
    each_block(call.copies, call.begin, call.end, [&](const Block& block) FSGC_INLINED {
        forward_block(Pass{call, network, dropout_of(call), block}, buffers);
    });
}

extern "C" void gin_backward(const GinCall* given) {
    const GinCall& call = *given;
    const long d = call.width;
    const Network network = laid_out(call, call.weights), grads = laid_out(call, call.grad_weights);
    std::vector<float> turned(3 * call.convs * d * d), spread(d * call.columns);
    for (int l = 0; l < call.convs; ++l) {
        const Conv& conv = network.convs[l];
        const float* all_weights[] = {conv.first, conv.second, conv.jump};
        for (int i = 0; i < 3; ++i)
            if (all_weights[i]) transpose(d, d, all_weights[i], turned.data() + (3 * l + i) * d * d);
    }
    const Buffers buffers(5 + static_cast<int>(call.convs), most_rows(call.copies, call.begin, call.end), d);
    each_block(call.copies, call.begin, call.end, [&](const Block& block) FSGC_INLINED {
        if (call.columns) transpose(d, call.columns, call.spread + block.episode() * d * call.columns, spread.data());
        backward_block(Pass{call, network, dropout_of(call), block}, grads, turned.data(), spread.data(), buffers);
    });
}
