#pragma once
// Pointwise operators of floating tensors and numbers that are one loop: activations with their parameters, lerp, addcmul, slopes.
#include "cpu/convert.h"
#include "cpu/kernel_table.h"
#include "cpu/pointwise.h"

namespace shim {

struct PointwiseFormula {
  const char* name;
  int tensors, numbers;  // its operands: tensors (some may be numbers), then numbers
  BlockKernel f32, f64;
  BlockKernel f16 = nullptr, bf16 = nullptr;  // over floats too, which are rounded after each step as PyTorch's are
};

const PointwiseFormula* pointwise_formula(std::string_view name);  // null if there is none

// Of CPU tensors of one floating dtype, broadcast, or numbers. The result is new, or `out`, which must have its shape and dtype.
// Null where there is no kernel for the case.
Tensor run_formula(const PointwiseFormula&, std::span<const TensorOrScalar> inputs, Tensor out = {});

// The tables' parts.
std::span<const PointwiseFormula> plain_formulas();   // formulas.cpp: arithmetic
std::span<const PointwiseFormula> curved_formulas();  // formulas_curved.cpp: with exponentials and the like

inline float rounded_half(float x) { return to_float(to_half(x)); }
inline float rounded_bfloat16(float x) { return to_float(to_bfloat16(x)); }
// Rounded to a dtype of 16 bits, or not at all.
inline float rounded_to(DType t, float x) {
  return t == DType::f16 ? rounded_half(x) : t == DType::bf16 ? rounded_bfloat16(x) : x;
}
inline double rounded_to(DType, double x) { return x; }
template <class T> T rounded_log(T sum, DType t) { return rounded_to(t, T(std::log(rounded_to(t, sum)))); }

template <class Op, class T, int inputs>
__attribute__((always_inline)) inline void each_by(char* out, const char* const* in, int64_t n) {
  auto *a = reinterpret_cast<const T*>(in[0]), *b = reinterpret_cast<const T*>(in[inputs > 1 ? 1 : 0]);
  auto *c = reinterpret_cast<const T*>(in[inputs > 2 ? 2 : 0]), *d = reinterpret_cast<const T*>(in[inputs > 3 ? 3 : 0]);
  auto* r = reinterpret_cast<T*>(out);
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) {
    if constexpr (inputs == 1)
      r[i] = Op::f(a[i]);
    else if constexpr (inputs == 2)
      r[i] = Op::f(a[i], b[i]);
    else if constexpr (inputs == 3)
      r[i] = Op::f(a[i], b[i], c[i]);
    else
      r[i] = Op::f(a[i], b[i], c[i], d[i]);
  }
}

template <class Op, class T, int inputs>
SHIM_MATH_CLONES void formula_loop(char* out, const char* const* in, int64_t n) {
  each_by<Op, T, inputs>(out, in, n);
}
// Where wider vectors have nothing to give: functions of the C library are called one by one.
template <class Op, class T, int inputs>
SHIM_NARROW_CLONES void narrow_formula_loop(char* out, const char* const* in, int64_t n) {
  each_by<Op, T, inputs>(out, in, n);
}

template <class Op, int tensors, int numbers> constexpr PointwiseFormula formula_of(const char* name) {
  return {
      name, tensors, numbers, formula_loop<Op, float, tensors + numbers>, formula_loop<Op, double, tensors + numbers>};
}

}  // namespace shim
