// Which processors compiled code is for: those with AVX-512, whose 32 long registers hold the sums of a product's tile.
// Elsewhere PyTorch is faster, `fsgc_is_fast` says so, and the library is not used.
//
// A file includes this and the standard headers, then says FSGC_FOR_FAST_PROCESSORS, then includes all else: what follows
// is compiled for those processors. (`target_clones` splits vectors for the least of its processors before it clones.)
#pragma once

#if defined(__x86_64__) && defined(__linux__) && defined(__GNUC__) && !defined(__clang__)
#define FSGC_SEVERAL_PROCESSORS
#define FSGC_FOR_FAST_PROCESSORS _Pragma("GCC target(\"arch=x86-64-v4\")")
#else
#define FSGC_FOR_FAST_PROCESSORS
#endif
#define FSGC_INLINE inline __attribute__((always_inline))
#define FSGC_INLINED __attribute__((always_inline))  // after the parameters of a lambda

extern "C" int fsgc_is_fast() {
#if defined(__AVX512F__)
    return 1;
#elif defined(FSGC_SEVERAL_PROCESSORS)
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512cd") &&
           __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
#else
    return 0;
#endif
}
