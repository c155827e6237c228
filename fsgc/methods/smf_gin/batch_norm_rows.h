// Batch norm and ReLU of node rows, a block of rows at a time, and back.
//
// Between two passes over all blocks the statistics of the columns are known. Sums over the rows of a block are floats,
// sums over blocks are doubles; a block's variance is taken around its own mean, so that no digits cancel.
#pragma once
#include "../../native/rows.h"
#include <vector>

namespace fsgc {

struct Norm {
    const float *weight, *bias;
    float *running_mean, *running_var;
    int64_t* steps;        // that the running statistics have seen
    double momentum, eps;  // with a momentum below 0 all steps weigh the same
};

// y = relu((x - mean) · slope + bias), slope = weight · scale, scale = 1 / deviation; [d] each.
struct Affine {
    const float *mean, *scale, *slope, *bias;
};

// `work.columns<N>(c)` for pieces of N vectors that start at column c: several at a time, so that rows are read in
// long stretches, and what is left one by one.
template <class Work>
FSGC_INLINE void each_columns(int d, const Work& work) {
    int c = 0;
    for (; c + TILE_VECTORS * LANES <= d; c += TILE_VECTORS * LANES) work.template columns<TILE_VECTORS>(c);
    for (; c < d; c += LANES) work.template columns<1>(c);
}

struct NormRelu {
    long n;
    int d;
    const float* x;
    Affine by;
    float* y;

    template <int N>
    FSGC_INLINE void columns(int c) const {
        Lanes mean[N], slope[N], bias[N];
        for (int i = 0; i < N; ++i) {
            mean[i] = load(by.mean + c + i * LANES);
            slope[i] = load(by.slope + c + i * LANES);
            bias[i] = load(by.bias + c + i * LANES);
        }
        for (long at = c; at < n * d; at += d)
            for (int i = 0; i < N; ++i)
                store(y + at + i * LANES, positive((load(x + at + i * LANES) - mean[i]) * slope[i] + bias[i]));
    }
};

// The gradient at y to that before the ReLU, in place; its sums over rows, and those of its product with what was
// normalised, are added to `sums` and `along`.
struct ReluBack {
    long n;
    int d;
    const float* x;
    Affine by;
    float* grad;
    double *sums, *along;

    template <int N>
    FSGC_INLINE void columns(int c) const {
        Lanes mean[N], slope[N], bias[N], sum[N] = {}, product[N] = {};
        for (int i = 0; i < N; ++i) {
            mean[i] = load(by.mean + c + i * LANES);
            slope[i] = load(by.slope + c + i * LANES);
            bias[i] = load(by.bias + c + i * LANES);
        }
        for (long at = c; at < n * d; at += d)
            for (int i = 0; i < N; ++i) {
                const Lanes centred = load(x + at + i * LANES) - mean[i];
                const Lanes g = centred * slope[i] + bias[i] > 0.0f ? load(grad + at + i * LANES) : Lanes{};
                store(grad + at + i * LANES, g);
                sum[i] += g;
                product[i] += g * centred;
            }
        for (int i = 0; i < N; ++i) {
            product[i] *= load(by.scale + c + i * LANES);
            for (int lane = 0; lane < LANES; ++lane) {
                sums[c + i * LANES + lane] += sum[i][lane];
                along[c + i * LANES + lane] += product[i][lane];
            }
        }
    }
};

// The gradient after the norm to that at x: slope · g - by_mean - by_deviation · (x - mean).
struct NormBack {
    long n;
    int d;
    const float *grad, *x;
    Affine by;
    const float *by_mean, *by_deviation;
    float* at_x;

    template <int N>
    FSGC_INLINE void columns(int c) const {
        Lanes mean[N], slope[N], shift[N], pull[N];
        for (int i = 0; i < N; ++i) {
            mean[i] = load(by.mean + c + i * LANES);
            slope[i] = load(by.slope + c + i * LANES);
            shift[i] = load(by_mean + c + i * LANES);
            pull[i] = load(by_deviation + c + i * LANES);
        }
        for (long at = c; at < n * d; at += d)
            for (int i = 0; i < N; ++i) {
                const Lanes centred = load(x + at + i * LANES) - mean[i];
                store(at_x + at + i * LANES, slope[i] * load(grad + at + i * LANES) - shift[i] - pull[i] * centred);
            }
    }
};

// Adds the rows of a block to means and sums of squared deviations over `count` rows (Chan et al. 1979).
struct AddMoments {
    long n;
    int d;
    const float* x;
    double count, *mean, *squares;

    template <int N>
    FSGC_INLINE void columns(int c) const {
        Lanes middle[N] = {}, square[N] = {};
        for (long at = c; at < n * d; at += d)
            for (int i = 0; i < N; ++i) middle[i] += load(x + at + i * LANES);
        for (int i = 0; i < N; ++i) middle[i] /= static_cast<float>(n);
        for (long at = c; at < n * d; at += d)
            for (int i = 0; i < N; ++i) {
                const Lanes centred = load(x + at + i * LANES) - middle[i];
                square[i] += centred * centred;
            }
        const double share = n / (count + n);
        for (int i = 0; i < N; ++i)
            for (int lane = 0; lane < LANES; ++lane) {
                const int column = c + i * LANES + lane;
                const double apart = middle[i][lane] - mean[column];
                mean[column] += apart * share;
                squares[column] += square[i][lane] + apart * apart * share * count;
            }
    }
};

struct Moments {  // of columns, so far
    std::vector<double> mean, squares;
    double count = 0;
    explicit Moments(long d) : mean(d), squares(d) {}
};

// Moments to the norm's affine map, [4, d] at `to`, and to its running statistics, whose means have `shift` added.
FSGC_INLINE void learn(const Norm& norm, const Moments& of, int d, const float* shift, float* to) {
    ++*norm.steps;
    const double momentum = norm.momentum < 0 ? 1.0 / static_cast<double>(*norm.steps) : norm.momentum;
    for (int c = 0; c < d; ++c) {
        const double mean = of.mean[c] + (shift ? shift[c] : 0.0f), scale = 1 / __builtin_sqrt(of.squares[c] / of.count + norm.eps);
        norm.running_mean[c] = static_cast<float>((1 - momentum) * norm.running_mean[c] + momentum * mean);
        norm.running_var[c] = static_cast<float>((1 - momentum) * norm.running_var[c] + momentum * of.squares[c] / (of.count - 1));
        to[c] = static_cast<float>(of.mean[c]);
        to[d + c] = static_cast<float>(scale);
        to[2 * d + c] = static_cast<float>(norm.weight[c] * scale);
        to[3 * d + c] = norm.bias[c];
    }
}

FSGC_INLINE Affine affine(const float* at, int d) { return {at, at + d, at + 2 * d, at + 3 * d}; }

struct NormGradient {  // sums over blocks, and what they say of the way back
    std::vector<double> sums, along;
    std::vector<float> by_mean, by_deviation;
    explicit NormGradient(long d) : sums(d), along(d), by_mean(d), by_deviation(d) {}

    FSGC_INLINE void finish(const Affine& by, long rows, int d, float* at_weight, float* at_bias) {
        for (int c = 0; c < d; ++c) {
            at_weight[c] = static_cast<float>(along[c]);
            at_bias[c] = static_cast<float>(sums[c]);
            by_mean[c] = static_cast<float>(by.slope[c] * sums[c] / rows);
            by_deviation[c] = static_cast<float>(by.slope[c] * by.scale[c] * along[c] / rows);
            sums[c] = along[c] = 0;
        }
    }
};

}  // namespace fsgc
