// Squares of LANES · LANES numbers, turned in registers.
#pragma once
#include "products.h"

namespace fsgc {

typedef int LaneNumbers __attribute__((vector_size(4 * LANES)));

// The numbers of two vectors at certain places, those of the second counted on from the first.
FSGC_INLINE Lanes chosen(Lanes first, Lanes second, LaneNumbers places) {
#ifdef __clang__
    Lanes result;
    for (int i = 0; i < LANES; ++i) result[i] = places[i] < LANES ? first[places[i]] : second[places[i] - LANES];
    return result;
#else
    return __builtin_shuffle(first, second, places);
#endif
}

// Exchanges the upper right and the lower left quarter of every square of 2 · SIZE rows on the diagonal.
template <int SIZE>
FSGC_INLINE void exchange(Lanes (&rows)[LANES]) {
    LaneNumbers up{}, down{};
    for (int i = 0; i < LANES; ++i) {
        up[i] = i & SIZE ? LANES + i - SIZE : i;
        down[i] = i & SIZE ? LANES + i : i + SIZE;
    }
    for (int r = 0; r < LANES; ++r) {
        if (r & SIZE) continue;
        const Lanes upper = rows[r], lower = rows[r + SIZE];
        rows[r] = chosen(upper, lower, up);
        rows[r + SIZE] = chosen(upper, lower, down);
    }
}

// Rows become columns.
FSGC_INLINE void turn_square(Lanes (&rows)[LANES]) {
    if constexpr (LANES == 16) exchange<8>(rows);
    exchange<4>(rows);
    exchange<2>(rows);
    exchange<1>(rows);
}

}  // namespace fsgc
