#pragma once
// What convolutions, pools and resampling on CUDA take of their arguments.
#include <algorithm>

#include "cuda/images.h"
#include "python/native_cuda.h"
#include "python/tensor_type.h"

namespace shim {

namespace {

constexpr int64_t kMost = int64_t(1) << 30;

// A CUDA tensor of real floats of two bytes or more, with elements.
inline bool cuda_floats(PyObject* o) {
  if (!is_tensor(o)) return false;
  const TensorImpl& t = *unwrap(o);
  return t.device().is_cuda() && is_floating(t.dtype()) && t.itemsize() > 1 && t.numel() && !t.has_math_bits();
}
inline bool cuda_floats_or_none(PyObject* o) { return o == Py_None || cuda_floats(o); }
// One or `n` numbers, from `least` on; false: others.
inline bool numbers_of(PyObject* o, int n, int64_t least, Dims* to) {
  if (!dims_of(o, to)) {
    PyErr_Clear();
    return false;
  }
  if (to->size() == 1) to->resize(size_t(n), to->front());
  return to->size() == size_t(n) &&
         std::all_of(to->begin(), to->end(), [&](int64_t v) { return v >= least && v < kMost; });
}

// `t` in the order of memory that `like` tells of.
inline Tensor laid_out_as(const Tensor& t, const Tensor& like) {
  const MemoryFormat format = suggest_memory_format(*like);
  return format == MemoryFormat::contiguous ? t : clone(t, format);
}

// (planes, depth, height, width) of an input whose last n dims are pooled; null where it has no dims for that.
inline Tensor as_planes(const Tensor& x, int n, cuda::Sides* s) {
  if (x->dim() < n + 1 || x->dim() > n + 2 || x->numel() > INT32_MAX) return {};
  Dims sizes(4, 1);
  for (int i = 0; i < n; ++i) sizes[size_t(4 - n + i)] = x->sizes()[size_t(x->dim() - n + i)];
  sizes[0] = x->numel() / (sizes[1] * sizes[2] * sizes[3]);
  for (size_t d = 0; d < 3; ++d) s->of[d].size = s->of[d].out = int(sizes[d + 1]);
  return view(*contiguous(x), sizes);
}

// A result of planes with the input's leading dims, in its order of memory.
inline PyObject* planes_back(const Tensor& out, const Tensor& x, int n) {
  if (!out) return nullptr;
  Dims sizes(x->sizes().begin(), x->sizes().end());
  for (int i = 0; i < n; ++i) sizes[sizes.size() - size_t(n) + size_t(i)] = out->sizes()[size_t(4 - n + i)];
  return wrap(laid_out_as(view(*out, sizes), x));
}

}  // namespace

}  // namespace shim
