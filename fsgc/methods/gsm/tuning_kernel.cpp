// The fine-tuning of GSM, episode after episode: all steps of one, so that its weights stay in the processor's cache.
//
// The text of the headers is compiled once for each kind of processor, of which the best one is taken. They are included
// in namespaces, so they include nothing themselves and have no guards. (`target_clones` would be shorter, but splits
// vectors for the least of the processors before it makes its clones, and so halves the speed of products.)
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <utility>
#include <vector>

#define INLINE inline __attribute__((always_inline))
#define NOINLINE __attribute__((noinline))
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#define SEVERAL_PROCESSORS
#include <immintrin.h>
#endif

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

#ifdef SEVERAL_PROCESSORS
#pragma GCC push_options
#pragma GCC target("arch=x86-64-v4")
namespace v4 {
#include "tuning_episode.h"
}
#pragma GCC pop_options
#pragma GCC push_options
#pragma GCC target("arch=x86-64-v3")
namespace v3 {
#include "tuning_episode.h"
}
#pragma GCC pop_options
#endif
namespace any {
#include "tuning_episode.h"
}

}  // namespace

// Returns 0, or 1 if there is not enough memory.
extern "C" int fsgc_gsm_fine_tune(const Sizes* sizes, const Rates* rates, const Arrays* arrays) {
#ifdef SEVERAL_PROCESSORS
    if (__builtin_cpu_supports("x86-64-v4")) return v4::tune_all(sizes, rates, arrays);
    if (__builtin_cpu_supports("x86-64-v3")) return v3::tune_all(sizes, rates, arrays);
#endif
    return any::tune_all(sizes, rates, arrays);
}
