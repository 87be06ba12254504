#pragma once
// What linear layers and products of matrices take of their arguments.
#include "core/sparse.h"
#include "cpu/parallel.h"
#include "gemm/complex_product.h"
#include "ops/kernel.h"

namespace shim::gemm {

constexpr double kWorthReleasing = 1 << 18;  // multiplications
constexpr NotMine kNotFloats{"a dtype without products"},
    kNotAlike{"tensors of two dtypes or devices, or meta tensors"}, kNotFitting{"sizes that do not fit"},
    kNoProduct{"a device or layout without a product"}, kComplexFactor{"a complex factor"},
    kNoSuchResult{"a result in another dtype"};

// Runs f without the interpreter's lock where it takes long enough on this thread to be worth it.
template <class F> auto computed(const TensorImpl& like, double work, F&& f) {
  if (like.device().is_cuda() || work < kWorthReleasing) return f();
  Unlocked others_run;
  return f();
}

inline bool floats(const TensorImpl& t) { return !is_sparse(t) && floating(t.dtype()); }
inline bool multiplied(const TensorImpl& t) { return floats(t) || complex_on_cuda(t); }  // there are products of such
inline bool alike(const TensorImpl& a, const TensorImpl& b) {
  return a.dtype() == b.dtype() && a.device() == b.device() && !a.device().is_meta();
}
inline int64_t last(const TensorImpl& t) { return t.sizes_data()[t.dim() - 1]; }

// Whether `t` broadcasts to `sizes`.
inline bool spreads(const TensorImpl& t, const int64_t* sizes, int dims) {
  if (t.dim() > dims) return false;
  for (int i = 1; i <= t.dim(); ++i)
    if (t.sizes_data()[t.dim() - i] != 1 && t.sizes_data()[t.dim() - i] != sizes[dims - i]) return false;
  return true;
}

// The dtype that a product of operands of dtype `has` is asked for in; undefined where none is computed in it.
inline DType result_dtype(std::optional<DType> asked, DType has) {
  const DType to = asked.value_or(has);
  return to == has || (to == DType::f32 && (has == DType::f16 || has == DType::bf16)) ? to : DType::undefined;
}

}  // namespace shim::gemm
