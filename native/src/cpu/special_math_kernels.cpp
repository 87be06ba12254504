// Float32 loops of the functions that special_math.h has.
#include <algorithm>
#include <cmath>

#include "cpu/kernel_table.h"
#include "cpu/math_kernels.h"
#include "cpu/special_math.h"
#include "cpu/vector_math.h"

namespace shim {

namespace {

#define UNARY(Name, ...)                                                  \
  struct Name {                                                           \
    SHIM_ALWAYS_INLINE static float f(float x) { return __VA_ARGS__(x); } \
  }
UNARY(Sinh, sinh_of);
UNARY(Cosh, cosh_of);
UNARY(Atan, atan_of);
UNARY(Asin, asin_of);
UNARY(Acos, acos_of);
UNARY(Erfc, erfc_of);
UNARY(Erfinv, erfinv_of);
UNARY(Ndtr, ndtr_of);
UNARY(Ndtri, ndtri_of);
SHIM_ALWAYS_INLINE float i0_of(float x) {
  return std::fabs(x) == std::numeric_limits<float>::infinity() ? std::fabs(x) : bessel_i_of<0, false>(x);
}
UNARY(I0, i0_of);
UNARY(ModifiedI0, bessel_i_of<0, false>);
UNARY(I0e, bessel_i_of<0, true>);
UNARY(I1, bessel_i_of<1, false>);
UNARY(I1e, bessel_i_of<1, true>);
UNARY(Lgamma, lgamma_of);
#undef UNARY
struct Tan {  // with limits, beyond which each is worked out by itself
  SHIM_ALWAYS_INLINE static float f(float x) { return tan_of(x); }
  static float beyond(float x) { return float(std::tan(double(x))); }
  SHIM_ALWAYS_INLINE static bool fits(float x) { return std::fabs(x) <= kReducible; }
};

template <class F> SHIM_MATH_CLONES void unary_block(const float* x, float* y, int64_t n) {
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) y[i] = F::f(x[i]);
}
template <class F> SHIM_CLONES bool all_fit(const float* x, int64_t n) {
  int bad = 0;
  for (int64_t i = 0; i < n; ++i) bad |= !F::fits(x[i]);
  return !bad;
}
template <class F> void unary(char* out, const char* const* in, int64_t n) {
  auto* x = reinterpret_cast<const float*>(in[0]);
  auto* y = reinterpret_cast<float*>(out);
  if constexpr (!requires { F::beyond; })
    return unary_block<F>(x, y, n);
  else
    for (int64_t at = 0; at < n; at += kBlock) {
      const int64_t m = std::min(kBlock, n - at);
      if (all_fit<F>(x + at, m))
        unary_block<F>(x + at, y + at, m);
      else
        for (int64_t i = at; i < at + m; ++i) y[i] = F::f(x[i]), y[i] = F::fits(x[i]) ? y[i] : F::beyond(x[i]);
    }
}

}  // namespace

BlockKernel special_math_kernel(const char* name) {
  static const NamedKernel all[] = {{"sinh", unary<Sinh>}, {"cosh", unary<Cosh>}, {"atan", unary<Atan>},
      {"asin", unary<Asin>}, {"acos", unary<Acos>}, {"tan", unary<Tan>}, {"erfinv", unary<Erfinv>},
      {"erfc", unary<Erfc>}, {"lgamma", unary<Lgamma>}, {"ndtr", unary<Ndtr>}, {"ndtri", unary<Ndtri>},
      {"i0", unary<I0>}, {"modified_bessel_i0", unary<ModifiedI0>}, {"i0e", unary<I0e>}, {"i1", unary<I1>},
      {"i1e", unary<I1e>}};
  return kernel_named(name, all);
}

}  // namespace shim
