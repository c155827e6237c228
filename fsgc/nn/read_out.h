// What follows jumping knowledge: y = relu(LayerNorm(t)) and its sum over the nodes of each graph; where wanted also the
// variance over them of y M, the matrix M [d, c] being the episode's (for the deviations of `mean_std`).
#pragma once
#include "../native/listed_products.h"
#include "graph_blocks.h"

namespace fsgc {

struct ReadOut {  // of a block; the last four with the variance only
    const float *norm_weight, *norm_bias;  // [d]
    float* sums;                           // [graphs, d]
    int columns;                           // c, or 0
    const float* matrix;                   // [d, c]
    float* variances;                      // [graphs, c]
    float *y, *z;                          // for the rows of a block, [rows, d] and [rows, c]
};

struct ReadOutGradients {
    const float *sums, *variances;
    float *norm_weight, *norm_bias, *matrix;
    const float* turned;  // the matrix the other way round
};

FSGC_INLINE void fill(long count, float* to) { std::memset(to, 0, sizeof(float) * count); }

FSGC_INLINE void multiply_by_matrix(const Block& block, int d, const ReadOut& read) {
    fill(block.rows() * read.columns, read.z);
    add_product(block.rows(), d, read.columns, Rows{read.y, d}, read.matrix, Rows{read.z, read.columns});
}

// z of one graph less its mean; gives the variances to `variance(column, lanes)`.
template <class Function>
FSGC_INLINE void centred(long n, int columns, float* z, Function variance) {
    for (int c = 0; c < columns; c += LANES) {
        Lanes sum{}, squares{};
        for (long r = 0; r < n; ++r) sum += load(z + r * columns + c);
        const Lanes mean = sum / static_cast<float>(n);
        for (long r = 0; r < n; ++r) {
            const Lanes each = load(z + r * columns + c) - mean;
            store(z + r * columns + c, each);
            squares += each * each;
        }
        variance(c, squares / static_cast<float>(n));
    }
}

FSGC_INLINE void read_out(const Block& block, int d, const float* t, const ReadOut& read) {
    block.each_graph([&](long graph, long row, long n, long) FSGC_INLINED {
        float* sum = read.sums + graph * d;
        fill(d, sum);
        for (long r = 0; r < n; ++r) {
            float* y = read.y + (read.columns ? (row + r) * d : 0);
            layer_norm_relu(d, t + (row + r) * d, read.norm_weight, read.norm_bias, y);
            for (int c = 0; c < d; c += LANES) add_to(sum + c, load(y + c));
        }
    });
    if (!read.columns) return;
    multiply_by_matrix(block, d, read);
    block.each_graph([&](long graph, long row, long n, long) FSGC_INLINED {
        centred(n, read.columns, read.z + row * read.columns, [&](int c, Lanes variance) FSGC_INLINED {
            store(read.variances + graph * read.columns + c, variance);
        });
    });
}

// The gradients at sums and variances to that at t, into `at_t`.
FSGC_INLINE void read_out_back(const Block& block, int d, const float* t, const ReadOut& read, const ReadOutGradients& grads, float* at_t) {
    if (read.columns) {
        const int columns = read.columns;
        for (long r = 0; r < block.rows(); ++r) layer_norm_relu(d, t + r * d, read.norm_weight, read.norm_bias, read.y + r * d);
        multiply_by_matrix(block, d, read);
        block.each_graph([&](long graph, long row, long n, long) FSGC_INLINED {
            float* z = read.z + row * columns;
            centred(n, columns, z, [&](int c, Lanes) FSGC_INLINED {
                const Lanes at = load(grads.variances + graph * columns + c) * (2.0f / static_cast<float>(n));
                for (long r = 0; r < n; ++r) store(z + r * columns + c, load(z + r * columns + c) * at);
            });
        });
        add_outer_products(block.rows(), d, columns, Rows{read.y, d}, read.z, grads.matrix);
        block.each_graph([&](long graph, long row, long n, long) FSGC_INLINED {  // y is done with: its gradient
            for (long r = 0; r < n; ++r) std::memcpy(read.y + (row + r) * d, grads.sums + graph * d, sizeof(float) * d);
        });
        add_product(block.rows(), columns, d, Rows{read.z, columns}, grads.turned, Rows{read.y, d});
    }
    block.each_graph([&](long graph, long row, long n, long) FSGC_INLINED {
        for (long r = row; r < row + n; ++r) {
            const float* grad = read.columns ? read.y + r * d : grads.sums + graph * d;
            layer_norm_relu_back(d, t + r * d, read.norm_weight, read.norm_bias, grads.norm_weight, grads.norm_bias, grad, at_t + r * d);
        }
    });
}

}  // namespace fsgc
