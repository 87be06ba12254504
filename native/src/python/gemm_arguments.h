#pragma once
// What linear layers and products of matrices take of their arguments.
#include "core/sparse.h"
#include "ops/linear.h"
#include "python/dispatch.h"
#include "autograd/autograd.h"
#include "python/native_values.h"

namespace shim {

namespace {

constexpr double kWorthReleasing = 1 << 18;  // multiplications

// Runs f without the GIL where it takes long enough on this thread to be worth it.
template <class F> PyObject* compute(const TensorImpl& like, double work, F&& f) {
  Tensor r;
  if (like.device().is_cuda() || work < kWorthReleasing) {
    r = f();
  } else {
    GilRelease released;
    r = f();
  }
  return wrapped(r);
}

inline bool floats(const TensorImpl& t) {
  if (is_sparse(t)) return false;
  return t.dtype() == DType::f32 || t.dtype() == DType::f64 || t.dtype() == DType::f16 || t.dtype() == DType::bf16;
}
inline bool alike(const TensorImpl& a, const TensorImpl& b) {
  return a.dtype() == b.dtype() && a.device() == b.device() && !a.device().is_meta();
}
// Makes a gradient of the dtype of what was kept for it; false where they are not both floats on one device.
inline bool fit(Tensor& g, const Tensor& kept) {
  if (!floats(*g) || !floats(*kept) || g->device() != kept->device() || g->device().is_meta()) return false;
  if (g->dtype() != kept->dtype()) g = to_dtype(g, kept->dtype());
  return true;
}
inline int64_t last(const TensorImpl& t) { return t.sizes_data()[t.dim() - 1]; }

// Whether `t` broadcasts to `sizes`.
inline bool spreads(const TensorImpl& t, const int64_t* sizes, int dims) {
  if (t.dim() > dims) return false;
  for (int i = 1; i <= t.dim(); ++i)
    if (t.sizes_data()[t.dim() - i] != 1 && t.sizes_data()[t.dim() - i] != sizes[dims - i]) return false;
  return true;
}

// The dtype that a product of operands of dtype `has` is asked for in; false where none is computed in it.
inline bool result_dtype(PyObject* asked, DType has, DType* to) {
  *to = asked == Py_None ? has : is_dtype(asked) ? dtype_of(asked) : DType::undefined;
  return *to == has || (*to == DType::f32 && (has == DType::f16 || has == DType::bf16));
}

}  // namespace

}  // namespace shim
