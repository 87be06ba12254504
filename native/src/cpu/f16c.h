#pragma once
// Whether the processor converts float16 by instructions of its own; where SHIM_F16C is defined.
#if defined(__x86_64__) && defined(__GNUC__)
#include <immintrin.h>
#define SHIM_F16C

namespace shim {

inline bool has_f16c() {
#ifdef __clang__
  static const bool has = __builtin_cpu_supports("avx2");            // it does not know the other's name; what has this has that
#else
  static const bool has = __builtin_cpu_supports("f16c");
#endif
  return has;
}

}  // namespace shim
#endif
