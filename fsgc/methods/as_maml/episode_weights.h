// The weights of one episode, the gradient that a step adds to them, and the matrices turned for the way back.
#pragma once
#include "layer_products.h"
#include "workspace.h"

namespace fsgc {

constexpr int MOST_LEVELS = 16;
constexpr int HEAD = 3;

struct Sizes {
    int features, width, levels, classes;  // `classes` is filled up to a multiple of FILL; `width` is one of 2 FILL

    FSGC_INLINE int conv_in(int level) const { return level ? width : features; }
    FSGC_INLINE int head_in(int place) const { return 2 * width >> place; }
    FSGC_INLINE int head_out(int place) const { return place + 1 < HEAD ? width >> place : classes; }
};

// Where things are in the one array of all weights: of each level its convolution, [in, width] and [width], and its
// score, [2, width] and one number in FILL; then the layers of the head. A gradient has the same form.
struct Places {
    long conv[MOST_LEVELS], conv_bias[MOST_LEVELS], score[MOST_LEVELS], score_bias[MOST_LEVELS];
    long head[HEAD], head_bias[HEAD], count;

    FSGC_INLINE explicit Places(const Sizes& sizes) : count(0) {
        for (int level = 0; level < sizes.levels; ++level) {
            conv[level] = next(long(sizes.conv_in(level)) * sizes.width);
            conv_bias[level] = next(sizes.width);
            score[level] = next(2 * sizes.width);
            score_bias[level] = next(FILL);
        }
        for (int place = 0; place < HEAD; ++place) {
            head[place] = next(long(sizes.head_in(place)) * sizes.head_out(place));
            head_bias[place] = next(sizes.head_out(place));
        }
    }

   private:
    FSGC_INLINE long next(long size) {
        const long here = count;
        count += size;
        return here;
    }
};

struct EpisodeWeights {
    Sizes sizes;
    Places at;
    float *now, *change, *nothing;
    float *conv_turned[MOST_LEVELS], *head_turned[HEAD];

    // Copy `start`, which has the form of `Places` but for its matrices, row after row.
    FSGC_INLINE EpisodeWeights(const Sizes& given, const float* start, Workspace& work) : sizes(given), at(given) {
        now = work.take<float>(at.count);
        change = work.zeros<float>(at.count);
        nothing = work.zeros<float>(2 * sizes.width);
        memcpy(now, start, at.count * sizeof(float));
        for (int level = 0; level < sizes.levels; ++level) {
            to_panels(sizes.conv_in(level), sizes.width, start + at.conv[level], now + at.conv[level]);
            conv_turned[level] = work.take<float>(level ? long(sizes.width) * sizes.width : 0);
        }
        for (int place = 0; place < HEAD; ++place) {
            to_panels(sizes.head_in(place), sizes.head_out(place), start + at.head[place], now + at.head[place]);
            head_turned[place] = work.take<float>(long(sizes.head_in(place)) * sizes.head_out(place));
        }
        turn_all();
    }

    // The end of a step.
    FSGC_INLINE void take_change() {
        for (long i = 0; i < at.count; i += LANES) {
            store(now + i, load(now + i) + load(change + i));
            store(change + i, Lanes{});
        }
        turn_all();
    }

    // The change, and what `base` has beside it if that is given, in the form of `start`.
    FSGC_INLINE void give_change(const float* base, float* out) const {
        memcpy(out, change, at.count * sizeof(float));
        for (int level = 0; level < sizes.levels; ++level)
            from_panels(sizes.conv_in(level), sizes.width, change + at.conv[level], out + at.conv[level]);
        for (int place = 0; place < HEAD; ++place)
            from_panels(sizes.head_in(place), sizes.head_out(place), change + at.head[place], out + at.head[place]);
        if (base)
            for (long i = 0; i < at.count; i += LANES) store(out + i, load(base + i) + load(out + i));
    }

   private:
    FSGC_INLINE static void from_panels(int rows, int columns, const float* from, float* to) {
        for (int r = 0; r < rows; ++r)
            for (int c = 0; c < columns; c += LANES)
                store(to + long(r) * columns + c, load(from + in_panels(rows, columns, r, c)));
    }

    FSGC_INLINE static void to_panels(int rows, int columns, const float* from, float* to) {
        for (int r = 0; r < rows; ++r)
            for (int c = 0; c < columns; c += LANES)
                store(to + in_panels(rows, columns, r, c), load(from + long(r) * columns + c));
    }

    FSGC_INLINE void turn_all() {
        for (int level = 1; level < sizes.levels; ++level)
            turn(sizes.width, sizes.width, now + at.conv[level], conv_turned[level]);
        for (int place = 0; place < HEAD; ++place)
            turn(sizes.head_in(place), sizes.head_out(place), now + at.head[place], head_turned[place]);
    }
};

}  // namespace fsgc
