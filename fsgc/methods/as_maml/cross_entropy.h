// The cross-entropy of an episode's graphs, its gradient by their logits, and how that changes with them.
//
// Logits have rows of `filled` numbers, the first `classes` of which count; gradients have zeros after these.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>

#include "../../native/products.h"

namespace fsgc {

// The sum over the graphs; also the softmax of the logits, and the gradient by them of `scale` times the sum.
FSGC_INLINE float cross_entropy(int graphs, int classes, int filled, const int64_t* labels, float scale, const float* logits, float* share, float* grad) {
    float total = 0;
    for (int g = 0; g < graphs; ++g, logits += filled, share += filled, grad += filled) {
        float largest = logits[0], sum = 0;
        for (int c = 1; c < classes; ++c) largest = std::max(largest, logits[c]);
        for (int c = 0; c < classes; ++c) sum += share[c] = std::exp(logits[c] - largest);
        for (int c = 0; c < classes; ++c) {
            share[c] /= sum;
            grad[c] = scale * (share[c] - (labels[g] == c));
        }
        for (int c = classes; c < filled; ++c) grad[c] = 0;
        total += largest + std::log(sum) - logits[labels[g]];
    }
    return total;
}

// How that gradient changes with a change of the logits.
FSGC_INLINE void cross_entropy_change(int graphs, int classes, int filled, float scale, const float* share, const float* logits, float* grad) {
    for (int g = 0; g < graphs; ++g, share += filled, logits += filled, grad += filled) {
        float mean = 0;
        for (int c = 0; c < classes; ++c) mean += share[c] * logits[c];
        for (int c = 0; c < classes; ++c) grad[c] = scale * share[c] * (logits[c] - mean);
        for (int c = classes; c < filled; ++c) grad[c] = 0;
    }
}

}  // namespace fsgc
