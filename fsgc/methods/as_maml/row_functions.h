// What is computed row by row beside products: dot products, and tanh of many numbers.
#pragma once
#include "../../native/products.h"

namespace fsgc {

FSGC_INLINE void add(float* to, Lanes value) { store(to, load(to) + value); }

FSGC_INLINE float total(Lanes value) {
    typedef float Quarter __attribute__((vector_size(16)));
    const Half half = half_sum(value);
    const Quarter quarter = __builtin_shufflevector(half, half, 0, 1, 2, 3) + __builtin_shufflevector(half, half, 4, 5, 6, 7);
    return (quarter[0] + quarter[1]) + (quarter[2] + quarter[3]);
}

FSGC_INLINE float dot(int count, const float* a, const float* b) {
    Lanes sum = {};
    for (int c = 0; c < count; c += LANES) sum += load(a + c) * load(b + c);
    return total(sum);
}

// e^x for -88 < x < 88: 2^n · e^r with |r| ≤ ln 2 / 2 and a polynomial in r (Cephes).
FSGC_INLINE Lanes exponential(Lanes x) {
    typedef int Integers __attribute__((vector_size(4 * LANES)));
    const Lanes rounder = all(12582912.0f);  // 1.5 · 2^23: added and taken away again, it rounds
    const Lanes n = (x * 1.44269504088896341f + rounder) - rounder;
    const Lanes r = (x - n * 0.693359375f) + n * 2.12194440e-4f;
    Lanes p = all(1.9875691500e-4f);
    p = p * r + 1.3981999507e-3f;
    p = p * r + 8.3334519073e-3f;
    p = p * r + 4.1665795894e-2f;
    p = p * r + 1.6666665459e-1f;
    p = p * r + 5.0000001201e-1f;
    const Integers power = (__builtin_convertvector(n, Integers) + 127) << 23;
    return (p * r * r + r + 1.0f) * reinterpret_cast<const Lanes&>(power);
}

// values [count] to their tanh; read and written up to the next multiple of LANES.
FSGC_INLINE void hyperbolic_tangent(int count, float* values) {
    for (int i = 0; i < count; i += LANES) {
        const Lanes x = load(values + i);
        const Lanes size = x < 0.0f ? -x : x;
        const Lanes bounded = size > 10.0f ? all(10.0f) : size;  // tanh 10 = 1 in single precision
        const Lanes large = 1.0f - 2.0f / (exponential(2.0f * bounded) + 1.0f);
        const Lanes square = x * x;
        Lanes p = all(-5.70498872745e-3f);
        p = p * square + 2.06390887954e-2f;
        p = p * square - 5.37397155531e-2f;
        p = p * square + 1.33314422036e-1f;
        p = p * square - 3.33332819422e-1f;
        const Lanes small = p * square * x + x;
        const Lanes result = size < 0.625f ? small : (x < 0.0f ? -large : large);
        store(values + i, x == x ? result : x);
    }
}

}  // namespace fsgc
