// Which processors compiled code is for. Every C++ file is compiled twice (`setup.py`): for AVX-512, with 32 registers of
// 16 floats, and with FSGC_AVX2 defined for AVX2 and FMA, with 16 registers of 8. `fsgc_runs_here` says whether this
// processor can run the library; of those that run, the first is taken (`fsgc/native/library.py`).
//
// A file includes this and the standard headers, then says FSGC_FOR_PROCESSOR, then includes all else: what follows is
// compiled for that processor. (`target_clones` splits vectors for the least of its processors before it clones.)
#pragma once

#if defined(__x86_64__) && defined(__linux__) && defined(__GNUC__) && !defined(__clang__)
#define FSGC_NAMED_PROCESSOR
#ifdef FSGC_AVX2
#define FSGC_FOR_PROCESSOR _Pragma("GCC target(\"arch=x86-64-v3\")")
#else
#define FSGC_FOR_PROCESSOR _Pragma("GCC target(\"arch=x86-64-v4\")")
#endif
#else
#define FSGC_FOR_PROCESSOR
#endif
#define FSGC_INLINE inline __attribute__((always_inline))
#define FSGC_INLINED __attribute__((always_inline))  // after the parameters of a lambda

extern "C" int fsgc_runs_here() {
#if !defined(FSGC_NAMED_PROCESSOR)
    return 0;
#elif defined(FSGC_AVX2)
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi2");
#else
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512cd") &&
           __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
#endif
}
