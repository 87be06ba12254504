// Loops of the functions that vector_math.h has. Compiled with multiplications and additions fused where the processor can.
#include <algorithm>

#include "cpu/kernel_table.h"
#include "cpu/math_kernels.h"
#include "cpu/vector_math.h"

namespace shim {
namespace {

#define FUNCTION(Name, expression)                            \
  struct Name {                                               \
    template <class T> static T f(T x) { return expression; } \
    static constexpr bool limited = false;                    \
  }
FUNCTION(Exp, exp_of(x));
FUNCTION(Exp2, exp2_of(x));
FUNCTION(Expm1, x == T(0) ? x : T(expm1_in_double(x)));
FUNCTION(Log, log_of(x));
FUNCTION(Log2, log2_of(x));
FUNCTION(Log10, log10_of(x));
FUNCTION(Log1p, log1p_of(x));
FUNCTION(Tanh, tanh_of(x));
FUNCTION(Sigmoid, sigmoid_of(x));
FUNCTION(Erf, erf_of(x));
FUNCTION(Silu, x / (T(1) + exp_of(-x)));
FUNCTION(Gelu, gelu_of(x));
FUNCTION(GeluTanh, 0.5f * x * (1.f + tanh_of(0.79788456080286535588f * (x + 0.044715f * x * x * x))));
FUNCTION(Rsqrt, 1.f / std::sqrt(x));
#undef FUNCTION
struct Sin {
  template <class T> static T f(T x) { return sin_of(x); }
  template <class T> static T beyond(T x) { return std::sin(x); }
  static constexpr bool limited = true;
};
struct Cos {
  template <class T> static T f(T x) { return cos_of(x); }
  template <class T> static T beyond(T x) { return std::cos(x); }
  static constexpr bool limited = true;
};

template <class F, class T> SHIM_MATH_CLONES void block(const T* x, T* y, int64_t n) {
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) y[i] = F::f(x[i]);
}

template <class T> bool any_beyond(const T* x, int64_t n) {
  int many = 0;
  for (int64_t i = 0; i < n; ++i) many |= !(std::fabs(x[i]) <= (sizeof(T) == 4 ? T(kReducible) : T(kReducibleDouble)));
  return many;
}

template <class F, class T = float> void loop(char* out, const char* const* in, int64_t n) {
  auto* x = reinterpret_cast<const T*>(in[0]);
  auto* y = reinterpret_cast<T*>(out);
  if constexpr (!F::limited)
    return block<F>(x, y, n);
  else
    for (int64_t at = 0; at < n; at += kBlock) {
      const int64_t m = std::min(kBlock, n - at);
      if (!any_beyond(x + at, m))
        block<F>(x + at, y + at, m);
      else
        for (int64_t i = at; i < at + m; ++i) y[i] = F::beyond(x[i]);
    }
}

}  // namespace

BlockKernel math_kernel(const char* name) {
  static const NamedKernel all[] = {{"exp", loop<Exp>}, {"exp2", loop<Exp2>}, {"expm1", loop<Expm1>},
      {"log", loop<Log>}, {"log2", loop<Log2>}, {"log10", loop<Log10>}, {"log1p", loop<Log1p>}, {"tanh", loop<Tanh>},
      {"sigmoid", loop<Sigmoid>}, {"erf", loop<Erf>}, {"silu", loop<Silu>}, {"gelu", loop<Gelu>},
      {"gelu_tanh", loop<GeluTanh>}, {"rsqrt", loop<Rsqrt>}, {"sin", loop<Sin>}, {"cos", loop<Cos>}};
  return kernel_named(name, all);
}

BlockKernel double_math_kernel(const char* name) {
  static const NamedKernel all[] = {{"exp", loop<Exp, double>}, {"log", loop<Log, double>},
      {"tanh", loop<Tanh, double>}, {"sigmoid", loop<Sigmoid, double>}, {"silu", loop<Silu, double>},
      {"sin", loop<Sin, double>}, {"cos", loop<Cos, double>}};
  return kernel_named(name, all);
}

}  // namespace shim
