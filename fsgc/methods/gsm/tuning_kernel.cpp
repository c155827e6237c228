// The fine-tuning of GSM, episode after episode: all steps of one, so that its weights stay in the processor's cache.
//
// Its headers are parts of this file: they include nothing themselves and have no guards.
#include "../../native/processor.h"
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <utility>
#include <vector>

#ifdef FSGC_NAMED_PROCESSOR
#include <immintrin.h>
#endif
FSGC_FOR_PROCESSOR

#define INLINE FSGC_INLINE
#define NOINLINE __attribute__((noinline))

namespace {

// What all episodes have in common; the order is that of the numbers from Python.
struct Sizes {
    int64_t episodes, steps, graphs, supports, near, far, places, heads, inputs, width, hidden, classes, normalise;
};

struct Rates {
    double lr;
    float first_slope, second_slope;
};

// Arrays of all episodes, and the dropout masks and labels that they share.
struct Arrays {
    const float* x;               // [B, n2, inputs]
    const int64_t* first_source;  // [B, n1, places]
    const uint8_t* first_taken;
    const int64_t* second_source;  // [B, S, places]
    const uint8_t* second_taken;
    const int64_t* labels;     // [S]
    const float* first_keep;   // [T, places, graphs, H]
    const float* second_keep;  // [T, places, S, H]
    const float* head_keep;    // [T, S, hidden]
    // In and out, of each episode: weight [H d, inputs], attention [2 H, d], bias [d]; weight [d, H d], attention, bias;
    // hidden [hidden, d], its bias, out [classes, hidden], its bias.
    float* weights[10];
};

#include "tuning_episode.h"

}  // namespace

// Returns 0, or 1 if there is not enough memory.
extern "C" int fsgc_gsm_fine_tune(const Sizes* sizes, const Rates* rates, const Arrays* arrays) {
    return tune_all(sizes, rates, arrays);
}
