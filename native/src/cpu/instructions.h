#pragma once
// Which instructions the processor has, for kernels that are compiled for more than the build asks for.
#if defined(__x86_64__) && defined(__GNUC__)
#include <immintrin.h>
#define SHIM_F16C  // float16 converted by instructions of its own, where has_f16c()
#ifndef __clang__
#define SHIM_VECTOR_TARGETS  // GCC's pragmas that compile what is between them for other processors
// A function of vectors of 64 bytes, for where has_avx512().
#define SHIM_WIDE_TARGET __attribute__((target("avx512f,avx512bw,avx512vl,avx512dq,fma")))
#endif

namespace shim {

inline bool has_f16c() {
#ifdef __clang__
  static const bool has = __builtin_cpu_supports("avx2");  // it does not know the other's name; what has this has that
#else
  static const bool has = __builtin_cpu_supports("f16c");
#endif
  return has;
}
inline bool has_avx2() {  // and fused multiplications
  static const bool has = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  return has;
}
inline bool has_avx512() {  // as x86-64-v4 has it
  static const bool has = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                          __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq");
  return has;
}

}  // namespace shim
#endif
