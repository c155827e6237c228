// The part of a GIN embedder that works on node rows, some graphs at a time, so that all of it stays in the cache.
//
// e_0 is given. For every convolution l: c = W2 relu(GraphNorm(e)) + b2 (or c = e where an MLP has one layer), h =
// dropout(act(γ c + β)), e_(l+1) = W1 ((1 + ε) h_v + Σ h_u) + b1. Then y = relu(LayerNorm(j + Σ J_l h_l)), j being given,
// and its sum over the nodes of each graph. Weights lie as [in, out].
#include "../native/rows.h"
#include <memory>
#include <vector>

using namespace fsgc;

namespace {

constexpr long BLOCK = 192;  // nodes that are worked on together
constexpr int MOST_CONVS = 16;

// Functions of their own, not inlined: they stand in many places and are long.
FSGC_CLONES void multiply_rows(int n, int d, const float* x, const float* weight, float* y) {
    product<false>(n, d, d, x, d, 1, weight, d, y, d);
}
FSGC_CLONES void multiply_and_add_rows(int n, int d, const float* x, const float* weight, float* y) {
    product<true>(n, d, d, x, d, 1, weight, d, y, d);
}
FSGC_CLONES void add_outer_products(int n, int d, const float* x, const float* grad, float* at_weight) {
    product<true>(d, n, d, x, 1, d, grad, d, at_weight, d);
}

}  // namespace

extern "C" struct GinCall {
    int64_t width, convs, mlp_layers, relu, per_node;
    int64_t begin, end;                      // the graphs to do
    const int64_t *place, *node_pointer;     // of a graph: which of the distinct ones; of those: their nodes
    const int64_t *edge_pointer, *source;    // neighbours of the distinct graphs' nodes
    const int64_t *row_pointer, *episode;    // of a graph: its rows; its episode, or null
    const float *entry, *jump;               // [m, d]
    const float *gamma, *beta;               // [E, L, d], or null
    float *weights;
    float *saved;                            // [n, slots, d], or null
    float *out;                              // [g, d], or [n, d] with per_node
    uint64_t seed;
    int64_t levels, dropped;
    double scale;
    const float *grad_out;                   // as out
    float *grad_entry, *grad_jump, *grad_gamma, *grad_beta, *grad_weights;
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

FSGC_INLINE void transpose(long d, const float* from, float* to) {
    for (long i = 0; i < d; ++i)
        for (long j = 0; j < d; ++j) to[j * d + i] = from[i * d + j];
}

FSGC_INLINE void repeat_row(long n, int d, const float* row, float* to) {
    for (long r = 0; r < n; ++r) std::memcpy(to + r * d, row, sizeof(float) * d);
}

// Some graphs whose nodes fill a block.
struct Block {
    const GinCall& call;
    const Network& network;
    const Dropout dropout;
    long begin, end, rows;

    int width() const { return static_cast<int>(call.width); }
    long offset(long graph) const { return call.row_pointer[graph] - call.row_pointer[begin]; }
    long nodes(long graph) const { return call.row_pointer[graph + 1] - call.row_pointer[graph]; }
    int64_t origin(long graph) const { return call.node_pointer[call.place[graph]]; }
    long slots() const { return call.mlp_layers == 2 ? 2 * call.convs : call.convs; }

    // Which of an array's rows are kept for the way back: e_1, …; c_0, … (c_0 only where it is not e_0); the last is LayerNorm's input.
    long slot_of_entering(int l) const { return l - 1; }
    long slot_of_convolved(int l) const { return call.mlp_layers == 2 ? call.convs - 1 + l : l - 1; }

    FSGC_INLINE float* kept(long slot) const {  // the block's rows of one slot lie together
        return call.saved + (call.row_pointer[begin] * slots() + slot * rows) * call.width;
    }
    FSGC_INLINE void keep(long slot, const float* from) const {
        if (call.saved) std::memcpy(kept(slot), from, sizeof(float) * rows * call.width);
    }

    template <class Function>
    FSGC_INLINE void each_graph(Function function) const {
        for (long graph = begin; graph < end; ++graph) function(graph, offset(graph) * call.width, nodes(graph));
    }

    FSGC_INLINE void gather(const float* from, float* to) const {
        each_graph([&](long graph, long at, long n) FSGC_INLINED {
            std::memcpy(to + at, from + origin(graph) * call.width, sizeof(float) * n * call.width);
        });
    }
    FSGC_INLINE void scatter(const float* from, float* to) const {
        const int d = width();
        each_graph([&](long graph, long at, long n) FSGC_INLINED {
            float* rows_of = to + origin(graph) * d;
            for (long i = 0; i < n * d; i += LANES) add_to(rows_of + i, load(from + at + i));
        });
    }
    FSGC_INLINE void mixed(const float* x, float own, float* y) const {
        each_graph([&](long graph, long at, long n) FSGC_INLINED {
            mix(n, width(), x + at, own, call.edge_pointer + origin(graph), call.source, origin(graph), y + at);
        });
    }
    FSGC_INLINE void normed(const float* x, const GraphNorm& norm, float* y) const {
        each_graph([&](long, long at, long n) FSGC_INLINED { graph_norm_relu(n, width(), x + at, norm, y + at); });
    }
    FSGC_INLINE void multiply(const float* x, const float* weight, float* y) const {
        multiply_rows(static_cast<int>(rows), width(), x, weight, y);
    }
    FSGC_INLINE void multiply_and_add(const float* x, const float* weight, float* y) const {
        multiply_and_add_rows(static_cast<int>(rows), width(), x, weight, y);
    }
    FSGC_INLINE void weight_gradient(const float* x, const float* grad, float* at_weight) const {
        add_outer_products(static_cast<int>(rows), width(), x, grad, at_weight);
    }

    FSGC_INLINE const float* film(const float* values, long graph, int l) const {
        return values ? values + (call.episode[graph] * call.convs + l) * call.width : nullptr;
    }

    // h = dropout(act(γ c + β)); from nothing but c, so that the way back can ask for it again.
    FSGC_INLINE void activated(int l, const float* c, float* h) const {
        const int d = width();
        std::vector<float> factors(d, 1.0f);
        each_graph([&](long graph, long at, long n) FSGC_INLINED {
            const float *gamma = film(call.gamma, graph, l), *beta = film(call.beta, graph, l);
            for (long r = 0; r < n; ++r) {
                if (dropout.levels) dropout_factors(dropout, number(l, graph, r), d, factors.data());
                for (int col = 0; col < d; col += LANES) {
                    Lanes y = load(c + at + r * d + col);
                    if (gamma) y = y * load(gamma + col) + load(beta + col);
                    if (call.relu) y = positive(y);
                    store(h + at + r * d + col, y * load(factors.data() + col));
                }
            }
        });
    }

    // The gradient at h to that at c, in place.
    FSGC_INLINE void activated_back(int l, const float* c, float* grad) const {
        const int d = width();
        std::vector<float> factors(d, 1.0f);
        each_graph([&](long graph, long at, long n) FSGC_INLINED {
            const float *gamma = film(call.gamma, graph, l), *beta = film(call.beta, graph, l);
            const long of_episode = gamma ? (call.episode[graph] * call.convs + l) * d : 0;
            for (long r = 0; r < n; ++r) {
                if (dropout.levels) dropout_factors(dropout, number(l, graph, r), d, factors.data());
                for (int col = 0; col < d; col += LANES) {
                    const Lanes x = load(c + at + r * d + col);
                    Lanes g = load(grad + at + r * d + col) * load(factors.data() + col);
                    if (call.relu) g = (gamma ? x * load(gamma + col) + load(beta + col) : x) > 0.0f ? g : Lanes{};
                    if (gamma) {
                        add_to(call.grad_gamma + of_episode + col, g * x);
                        add_to(call.grad_beta + of_episode + col, g);
                        g = g * load(gamma + col);
                    }
                    store(grad + at + r * d + col, g);
                }
            }
        });
    }

    FSGC_INLINE uint64_t number(int l, long graph, long row) const {  // of a row among those of all layers
        return static_cast<uint64_t>(call.row_pointer[graph] + row) * call.convs + l;
    }
};

struct Buffers {  // arrays of a block's rows, from one piece of memory
    std::unique_ptr<float[]> memory;
    float* arrays[6 + MOST_CONVS];
    Buffers(int count, long rows, long d) : memory(new float[count * rows * d + LANES]) {
        for (int i = 0; i < count; ++i) arrays[i] = memory.get() + i * rows * d;
    }
};

template <class Function>
FSGC_INLINE void each_block(const GinCall& call, Function function) {
    for (long begin = call.begin; begin < call.end;) {
        long end = begin + 1;
        const auto rows = [&](long to) FSGC_INLINED { return call.row_pointer[to] - call.row_pointer[begin]; };
        while (end < call.end && rows(end + 1) <= BLOCK) ++end;
        function(begin, end, rows(end));
        begin = end;
    }
}

FSGC_INLINE long most_rows(const GinCall& call) {
    long most = 0;
    each_block(call, [&](long, long, long rows) FSGC_INLINED { most = rows > most ? rows : most; });
    return most;
}

FSGC_INLINE Dropout dropout_of(const GinCall& call) {
    return {call.seed, static_cast<int>(call.levels), static_cast<int>(call.dropped), static_cast<float>(call.scale)};
}

FSGC_INLINE void forward_block(const Block& block, Buffers& buffers) {
    const GinCall& call = block.call;
    float *e = buffers.arrays[0], *r = buffers.arrays[1], *h = buffers.arrays[2], *t = buffers.arrays[3], *c = buffers.arrays[4];
    const int d = block.width();
    block.gather(call.entry, e);
    block.gather(call.jump, t);
    for (int l = 0; l < call.convs; ++l) {
        const Conv& conv = block.network.convs[l];
        if (l) {
            block.mixed(h, *conv.own, r);
            repeat_row(block.rows, d, conv.first_bias, e);
            block.multiply_and_add(r, conv.first, e);
        }
        if (call.mlp_layers == 2) {
            if (l) block.keep(block.slot_of_entering(l), e);
            block.normed(e, conv.norm, r);
            repeat_row(block.rows, d, conv.second_bias, c);
            block.multiply_and_add(r, conv.second, c);
        }
        const float* convolved = call.mlp_layers == 2 ? c : e;
        if (l || call.mlp_layers == 2) block.keep(block.slot_of_convolved(l), convolved);
        block.activated(l, convolved, h);
        block.multiply_and_add(h, conv.jump, t);
    }
    block.keep(block.slots() - 1, t);
    block.each_graph([&](long graph, long at, long n) FSGC_INLINED {
        if (!call.per_node) std::memset(call.out + graph * d, 0, sizeof(float) * d);
        for (long row = 0; row < n; ++row) {
            float* to = call.per_node ? call.out + (call.row_pointer[graph] + row) * d : e;
            layer_norm_relu(d, t + at + row * d, block.network.norm_weight, block.network.norm_bias, to);
            if (!call.per_node)
                for (int col = 0; col < d; col += LANES) add_to(call.out + graph * d + col, load(e + col));
        }
    });
}

// `turned` are the weights of each convolution the other way round: W1, W2, J.
FSGC_INLINE void backward_block(const Block& block, const Network& grads, const float* turned, Buffers& buffers) {
    const GinCall& call = block.call;
    const int d = block.width(), last = static_cast<int>(call.convs) - 1;
    float *dt = buffers.arrays[0], *grad = buffers.arrays[1], *r = buffers.arrays[2], *dm = buffers.arrays[3], *e = buffers.arrays[4];
    float* const* h = buffers.arrays + 5;
    const float* convolved[MOST_CONVS];
    block.gather(call.entry, e);
    for (int l = 0; l <= last; ++l) {
        convolved[l] = l || call.mlp_layers == 2 ? block.kept(block.slot_of_convolved(l)) : e;
        block.activated(l, convolved[l], h[l]);
    }
    const float* t = block.kept(block.slots() - 1);
    block.each_graph([&](long graph, long at, long n) FSGC_INLINED {
        for (long row = 0; row < n; ++row) {
            const float* from = call.grad_out + (call.per_node ? call.row_pointer[graph] + row : graph) * d;
            layer_norm_relu_back(
                d, t + at + row * d, block.network.norm_weight, block.network.norm_bias, grads.norm_weight, grads.norm_bias, from, dt + at + row * d);
        }
    });
    block.scatter(dt, call.grad_jump);
    for (int l = last; l >= 0; --l) {
        const Conv &conv = block.network.convs[l], &at = grads.convs[l];
        const float *first = turned + 3 * l * d * d, *second = first + d * d, *jump = second + d * d;
        block.weight_gradient(h[l], dt, at.jump);
        if (l == last) block.multiply(dt, jump, grad);
        else block.multiply_and_add(dt, jump, grad);
        block.activated_back(l, convolved[l], grad);
        if (call.mlp_layers == 2) {
            const float* entering = l ? block.kept(block.slot_of_entering(l)) : e;
            block.normed(entering, conv.norm, r);
            block.weight_gradient(r, grad, at.second);
            add_column_sums(block.rows, d, grad, at.second_bias);
            block.multiply(grad, second, dm);
            block.each_graph([&](long, long row, long n) FSGC_INLINED {
                graph_norm_relu_back(n, d, entering + row, conv.norm, at.norm, dm + row);
            });
            std::swap(dm, grad);
        }
        if (l == 0) {
            block.scatter(grad, call.grad_entry);
            break;
        }
        block.mixed(h[l - 1], *conv.own, r);
        block.weight_gradient(r, grad, at.first);
        add_column_sums(block.rows, d, grad, at.first_bias);
        block.multiply(grad, first, dm);
        Lanes own{};
        for (long i = 0; i < block.rows * d; i += LANES) own += load(dm + i) * load(h[l - 1] + i);
        *at.own += total(own);
        block.mixed(dm, *conv.own, grad);  // the adjacency is symmetric: a sum over neighbours is its own adjoint
    }
}

}  // namespace

extern "C" FSGC_CLONES void gin_forward(const GinCall* given) {
    const GinCall& call = *given;
    const Network network = laid_out(call, call.weights);
    Buffers buffers(5, most_rows(call), call.width);
    each_block(call, [&](long begin, long end, long rows) FSGC_INLINED {
        forward_block(Block{call, network, dropout_of(call), begin, end, rows}, buffers);
    });
}

extern "C" FSGC_CLONES void gin_backward(const GinCall* given) {
    const GinCall& call = *given;
    const long d = call.width;
    const Network network = laid_out(call, call.weights), grads = laid_out(call, call.grad_weights);
    std::vector<float> turned(3 * call.convs * d * d);
    for (int l = 0; l < call.convs; ++l) {
        const Conv& conv = network.convs[l];
        const float* all_weights[] = {conv.first, conv.second, conv.jump};
        for (int i = 0; i < 3; ++i)
            if (all_weights[i]) transpose(d, all_weights[i], turned.data() + (3 * l + i) * d * d);
    }
    Buffers buffers(5 + static_cast<int>(call.convs), most_rows(call), d);
    each_block(call, [&](long begin, long end, long rows) FSGC_INLINED {
        backward_block(Block{call, network, dropout_of(call), begin, end, rows}, grads, turned.data(), buffers);
    });
}
