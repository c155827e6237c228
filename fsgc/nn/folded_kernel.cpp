// The part of a GIN embedder that works on node rows, where nothing nonlinear stands between two convolutions: the last
// layer of one, a scale and a shift (FiLM) and the first layer of the next are one matrix and one vector, those of an
// episode. Some graphs at a time, so that all of it stays in the cache.
//
// e_0 and j are given, of distinct graphs. r_l = relu(GraphNorm_l(e_l)); m_l = own_l · r_(l-1) + the sum over neighbours;
// e_l = m_l Q_l + (own_l + degree) q_l + b_l; t = j + p + Σ r_l P_l; then the read-out. r_0 and m_1 depend on no episode
// and are computed once for all copies of a graph. `matrices` are P_0, Q_1, P_1, Q_2, …, each [E, in, out]; of an episode
// `vectors` has p, q_1, b_1, q_2, …
#include "../native/processor.h"
#include <cstdint>
#include <cstring>
#include <memory>
#include <vector>
FSGC_FOR_PROCESSOR
#include "read_out.h"

using namespace fsgc;

extern "C" struct FoldedCall {
    int64_t width, convs, columns, nodes;  // columns of the matrix of variances; nodes of the distinct graphs
    int64_t begin, end;                    // the copies, or distinct graphs, to do
    Copies copies;
    const float *entry, *jump;             // [m, d]
    float *norms, *own, *vectors, *layer_norm, *spread;
    float* matrices[2 * MOST_CONVS - 1];   // [E, d, d] each
    float *shared;                         // [2, m, d]: r_0 and m_1
    float *saved;                          // [n, L, d], or null: of each block e_1, … and t
    float *sums, *variances;
    const float *grad_sums, *grad_variances;
    float *grad_shared, *grad_jump, *grad_norms, *grad_own, *grad_vectors, *grad_layer_norm, *grad_spread;
    float* grad_matrices[2 * MOST_CONVS - 1];
};

namespace {

FSGC_INLINE GraphNorm norm_of(float* norms, int layer, long d) {
    float* at = norms + 3 * layer * d;
    return {at, at + d, at + 2 * d};
}

struct Folded {  // matrices, vectors or their gradients, of one episode
    float* const* matrices;
    float* vectors;
    long episode, d;
    FSGC_INLINE Folded(float* const* all_matrices, float* all_vectors, long of, long convs, long width)
        : matrices(all_matrices), vectors(all_vectors + of * (2 * convs - 1) * width), episode(of), d(width) {}
    FSGC_INLINE float* matrix(long index) const { return matrices[index] + episode * d * d; }
    FSGC_INLINE float* to_jump(int layer) const { return matrix(2 * layer); }
    FSGC_INLINE float* to_next(int layer) const { return matrix(2 * layer - 1); }  // of e_layer
    FSGC_INLINE float* jump_shift() const { return vectors; }
    FSGC_INLINE float* degree_shift(int layer) const { return vectors + (2 * layer - 1) * d; }
    FSGC_INLINE float* shift(int layer) const { return vectors + 2 * layer * d; }
};

struct Pass {  // a block and where its numbers are
    const FoldedCall& call;
    const Block& block;
    std::vector<long>& place;      // of a row, in arrays of distinct graphs' nodes
    std::vector<float>& degree;    // of a row

    FSGC_INLINE int width() const { return static_cast<int>(call.width); }
    FSGC_INLINE float* shared(int which) const { return call.shared + which * call.nodes * call.width; }
    FSGC_INLINE float* saved(int slot) const {
        return call.saved + (block.first_row() * call.convs + slot * block.rows()) * call.width;
    }
    FSGC_INLINE void find_rows() const {
        block.each_graph([&](long, long row, long n, long node) FSGC_INLINED {
            for (long v = 0; v < n; ++v) {
                place[row + v] = (node + v) * call.width;
                degree[row + v] = static_cast<float>(block.copies.edge_pointer[node + v + 1] - block.copies.edge_pointer[node + v]);
            }
        });
    }
    FSGC_INLINE ReadOut read(float* y, float* z) const {
        const long d = call.width, c = call.columns;
        return {call.layer_norm, call.layer_norm + d, call.sums, static_cast<int>(c), call.spread + block.episode() * d * c, call.variances, y, z};
    }
};

FSGC_INLINE void forward_block(const Pass& pass, const Buffers& buffers) {
    const FoldedCall& call = pass.call;
    const Block& block = pass.block;
    const int d = pass.width(), convs = static_cast<int>(call.convs);
    const long rows = block.rows();
    const Folded folded(call.matrices, call.vectors, block.episode(), convs, d);
    float *t = call.saved ? pass.saved(convs - 1) : buffers[0], *r = buffers[2], *m = buffers[3];
    pass.find_rows();
    for (long v = 0; v < rows; ++v)
        for (int c = 0; c < d; c += LANES) store(t + v * d + c, load(call.jump + pass.place[v] + c) + load(folded.jump_shift() + c));
    add_product(rows, d, d, Listed{pass.shared(0), pass.place.data()}, folded.to_jump(0), Rows{t, d});
    for (int l = 1; l < convs; ++l) {
        float* e = call.saved ? pass.saved(l - 1) : buffers[1];
        const float own = call.own[l - 1], *by_degree = folded.degree_shift(l), *shift = folded.shift(l);
        for (long v = 0; v < rows; ++v)
            for (int c = 0; c < d; c += LANES) store(e + v * d + c, load(shift + c) + (own + pass.degree[v]) * load(by_degree + c));
        if (l == 1) {
            add_product(rows, d, d, Listed{pass.shared(1), pass.place.data()}, folded.to_next(l), Rows{e, d});
        } else {
            block.mixed(d, r, own, m);
            add_product(rows, d, d, Rows{m, d}, folded.to_next(l), Rows{e, d});
        }
        block.normed(d, e, norm_of(call.norms, l, d), r);
        add_product(rows, d, d, Rows{r, d}, folded.to_jump(l), Rows{t, d});
    }
    read_out(block, d, t, pass.read(buffers[4], buffers[5]));
}

// `turned` are the episode's matrices the other way round, and that of the variances behind them.
FSGC_INLINE void backward_block(const Pass& pass, const float* turned, const Buffers& buffers) {
    const FoldedCall& call = pass.call;
    const Block& block = pass.block;
    const int d = pass.width(), convs = static_cast<int>(call.convs);
    const long rows = block.rows(), square = static_cast<long>(d) * d, c = call.columns;
    const Folded folded(call.matrices, call.vectors, block.episode(), convs, d);
    const Folded grads(call.grad_matrices, call.grad_vectors, block.episode(), convs, d);
    float *dt = buffers[0], *grad = buffers[1], *r = buffers[2], *m = buffers[3], *dm = buffers[4];
    const Listed first_rows{pass.shared(0), pass.place.data()}, first_mixed{pass.shared(1), pass.place.data()};
    pass.find_rows();
    const ReadOutGradients at_read{call.grad_sums, call.grad_variances, call.grad_layer_norm, call.grad_layer_norm + d,
                                   call.grad_spread + block.episode() * d * c, turned + (2 * convs - 1) * square};
    read_out_back(block, d, pass.saved(convs - 1), pass.read(buffers[4], buffers[5]), at_read, dt);
    add_column_sums(rows, d, dt, grads.jump_shift());
    for (long v = 0; v < rows; ++v)
        for (int col = 0; col < d; col += LANES) add_to(call.grad_jump + pass.place[v] + col, load(dt + v * d + col));
    for (int l = convs - 1; l > 0; --l) {
        const float own = call.own[l - 1], *e = pass.saved(l - 1);
        if (l == convs - 1) fill(rows * d, grad);
        block.normed(d, e, norm_of(call.norms, l, d), r);
        add_outer_products(rows, d, d, Rows{r, d}, dt, grads.to_jump(l));
        add_product(rows, d, d, Rows{dt, d}, turned + 2 * l * square, Rows{grad, d});
        block.normed_back(d, e, norm_of(call.norms, l, d), norm_of(call.grad_norms, l, d), grad);
        const float* by_degree = folded.degree_shift(l);
        Lanes at_own{};
        for (int col = 0; col < d; col += LANES) {
            Lanes sum{}, by{};
            for (long v = 0; v < rows; ++v) {
                const Lanes g = load(grad + v * d + col);
                sum += g;
                by += (own + pass.degree[v]) * g;
            }
            add_to(grads.shift(l) + col, sum);
            add_to(grads.degree_shift(l) + col, by);
            at_own += sum * load(by_degree + col);
        }
        const float* turned_next = turned + (2 * l - 1) * square;
        if (l == 1) {
            call.grad_own[0] += total(at_own);
            add_outer_products(rows, d, d, first_mixed, grad, grads.to_next(l));
            add_product(rows, d, d, Rows{grad, d}, turned_next, Listed{call.grad_shared + call.nodes * d, pass.place.data()});
        } else {
            block.normed(d, pass.saved(l - 2), norm_of(call.norms, l - 1, d), r);
            block.mixed(d, r, own, m);
            add_outer_products(rows, d, d, Rows{m, d}, grad, grads.to_next(l));
            fill(rows * d, dm);
            add_product(rows, d, d, Rows{grad, d}, turned_next, Rows{dm, d});
            for (long i = 0; i < rows * d; i += LANES) at_own += load(dm + i) * load(r + i);
            call.grad_own[l - 1] += total(at_own);
            block.mixed(d, dm, own, grad);  // the adjacency is symmetric: a sum over neighbours is its own adjoint
        }
    }
    add_outer_products(rows, d, d, first_rows, dt, grads.to_jump(0));
    add_product(rows, d, d, Rows{dt, d}, turned, Listed{call.grad_shared, pass.place.data()});
}

template <class Function>
FSGC_INLINE void each_pass(const FoldedCall& call, long most, Function function) {
    std::vector<long> place(most + AHEAD);
    std::vector<float> degree(most);
    each_block(call.copies, call.begin, call.end, [&](const Block& block) FSGC_INLINED { function(Pass{call, block, place, degree}); });
}

// function(its first node, its nodes) for the distinct graphs to do.
template <class Function>
FSGC_INLINE void each_distinct(const FoldedCall& call, Function function) {
    for (long graph = call.begin; graph < call.end; ++graph) {
        const long node = call.copies.node_pointer[graph];
        function(node, call.copies.node_pointer[graph + 1] - node);
    }
}

}  // namespace

// Of the distinct graphs: r_0 and m_1.
extern "C" void folded_share(const FoldedCall* given) {
    const FoldedCall& call = *given;
    const int d = static_cast<int>(call.width);
    each_distinct(call, [&](long node, long n) FSGC_INLINED {
        float *rows = call.shared + node * d, *mixed = rows + call.nodes * d;
        graph_norm_relu(n, d, call.entry + node * d, norm_of(call.norms, 0, d), rows);
        if (call.convs > 1) mix(n, d, rows, call.own[0], call.copies.edge_pointer + node, call.copies.source, node, mixed);
    });
}

extern "C" void folded_forward(const FoldedCall* given) {
    const FoldedCall& call = *given;
    const long most = most_rows(call.copies, call.begin, call.end);
    const Buffers buffers(6, most, call.width);
    each_pass(call, most, [&](const Pass& pass) FSGC_INLINED { forward_block(pass, buffers); });
}

extern "C" void folded_backward(const FoldedCall* given) {
    const FoldedCall& call = *given;
    const long most = most_rows(call.copies, call.begin, call.end), d = call.width, count = 2 * call.convs - 1;
    const Buffers buffers(6, most, d);
    std::vector<float> turned(count * d * d + d * call.columns);
    long of = -1;
    each_pass(call, most, [&](const Pass& pass) FSGC_INLINED {
        const long episode = pass.block.episode();
        if (episode != of) {
            for (long i = 0; i < count; ++i) transpose(d, d, call.matrices[i] + episode * d * d, turned.data() + i * d * d);
            if (call.columns) transpose(d, call.columns, call.spread + episode * d * call.columns, turned.data() + count * d * d);
            of = episode;
        }
        backward_block(pass, turned.data(), buffers);
    });
}

// Of the distinct graphs: the gradients at r_0 and m_1 to that at e_0, in place of the first.
extern "C" void folded_share_back(const FoldedCall* given) {
    const FoldedCall& call = *given;
    const int d = static_cast<int>(call.width);
    std::vector<float> spread;
    each_distinct(call, [&](long node, long n) FSGC_INLINED {
        float *at_rows = call.grad_shared + node * d, *at_mixed = at_rows + call.nodes * d;
        if (call.convs > 1) {
            spread.resize(n * d);
            mix(n, d, at_mixed, call.own[0], call.copies.edge_pointer + node, call.copies.source, node, spread.data());
            Lanes own{};
            for (long i = 0; i < n * d; i += LANES) {
                own += load(at_mixed + i) * load(call.shared + node * d + i);
                add_to(at_rows + i, load(spread.data() + i));
            }
            call.grad_own[0] += total(own);
        }
        graph_norm_relu_back(n, d, call.entry + node * d, norm_of(call.norms, 0, d), norm_of(call.grad_norms, 0, d), at_rows);
    });
}
