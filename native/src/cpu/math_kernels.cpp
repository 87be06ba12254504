// float32 loops of functions that vector_math.h has. Compiled with multiplications and additions fused where the processor can.
#include <algorithm>
#include <cstring>

#include "cpu/kernel_table.h"
#include "cpu/vector_math.h"

namespace shim {
namespace {

#define FUNCTION(Name, expression) struct Name { static float f(float x) { return expression; } static float beyond(float x) { return f(x); } static constexpr bool limited = false; }
FUNCTION(Exp, exp_of(x));
FUNCTION(Exp2, exp2_of(x));
FUNCTION(Expm1, expm1_of(x));
FUNCTION(Log, log_of(x));
FUNCTION(Log2, log2_of(x));
FUNCTION(Log10, log10_of(x));
FUNCTION(Log1p, log1p_of(x));
FUNCTION(Tanh, tanh_of(x));
FUNCTION(Sigmoid, sigmoid_of(x));
FUNCTION(Erf, erf_of(x));
FUNCTION(Silu, x / (1.f + exp_of(-x)));
FUNCTION(Gelu, gelu_of(x));
FUNCTION(GeluTanh, 0.5f * x * (1.f + tanh_of(0.79788456080286535588f * (x + 0.044715f * x * x * x))));
FUNCTION(Rsqrt, 1.f / std::sqrt(x));
#undef FUNCTION
struct Sin { static float f(float x) { return sin_of(x); } static float beyond(float x) { return std::sin(x); } static constexpr bool limited = true; };
struct Cos { static float f(float x) { return cos_of(x); } static float beyond(float x) { return std::cos(x); } static constexpr bool limited = true; };

template <class F>
SHIM_MATH_CLONES void block(const float* x, float* y, int64_t n) {
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) y[i] = F::f(x[i]);
}

bool any_beyond(const float* x, int64_t n) {
  int many = 0;
  for (int64_t i = 0; i < n; ++i) many |= !(std::fabs(x[i]) <= kReducible);
  return many;
}

template <class F>
void loop(char* out, const char* const* in, int64_t n) {
  auto* x = reinterpret_cast<const float*>(in[0]);
  auto* y = reinterpret_cast<float*>(out);
  if constexpr (!F::limited) return block<F>(x, y, n);
  for (int64_t at = 0; at < n; at += kBlock) {
    const int64_t m = std::min(kBlock, n - at);
    if (!any_beyond(x + at, m)) block<F>(x + at, y + at, m);
    else for (int64_t i = at; i < at + m; ++i) y[i] = F::beyond(x[i]);
  }
}

}  // namespace

BlockKernel math_kernel(const char* name) {
  static const struct { const char* name; BlockKernel kernel; } all[] = {
      {"exp", loop<Exp>}, {"exp2", loop<Exp2>}, {"expm1", loop<Expm1>}, {"log", loop<Log>}, {"log2", loop<Log2>}, {"log10", loop<Log10>},
      {"log1p", loop<Log1p>}, {"tanh", loop<Tanh>}, {"sigmoid", loop<Sigmoid>}, {"erf", loop<Erf>}, {"silu", loop<Silu>}, {"gelu", loop<Gelu>},
      {"gelu_tanh", loop<GeluTanh>}, {"rsqrt", loop<Rsqrt>}, {"sin", loop<Sin>}, {"cos", loop<Cos>}};
  for (auto& k : all)
    if (!std::strcmp(k.name, name)) return k.kernel;
  return nullptr;
}

}  // namespace shim
