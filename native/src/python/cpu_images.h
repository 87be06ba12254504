#pragma once
// What convolutions and pools on the CPU take of their arguments.
#include <algorithm>

#include "cpu/pooling.h"
#include "python/native_cpu.h"

namespace shim {

namespace {

inline bool plain_floats_or_none(PyObject* o) { return o == Py_None || plain_floats(o); }

inline Tensor as(const Tensor& t, DType dtype) {
  return !t ? t : t->dtype() == dtype ? contiguous(t) : contiguous(to_dtype(t, dtype));
}

// One or `n` numbers as those of height and width; of one dim, the height's is `missing`. False: others, or one below `least`.
inline bool pair_of(PyObject* o, int n, int64_t least, int64_t missing, int64_t (&out)[2]) {
  Dims dims;
  if (!dims_of(o, &dims)) {
    PyErr_Clear();
    return false;
  }
  if (dims.empty() || (dims.size() != 1 && dims.size() != size_t(n))) return false;
  out[0] = n == 1 ? missing : dims[0];
  out[1] = dims.back();
  return out[0] >= least && out[1] >= least && std::max(out[0], out[1]) < (int64_t(1) << 30);
}

// A line is an image of one row, an image a volume of one.
inline Tensor as_volumes(const Tensor& t) {
  if (t->dim() == 5) return t;
  Dims sizes(t->sizes().begin(), t->sizes().end());
  sizes.insert(sizes.begin() + 2, size_t(5 - t->dim()), 1);
  return view(*contiguous(t), sizes);
}
inline Tensor from_volumes(const Tensor& t, int n) {
  if (n == 3) return t;
  Dims sizes(t->sizes().begin(), t->sizes().end());
  sizes.erase(sizes.begin() + 2, sizes.begin() + 5 - n);
  return view(*t, sizes);
}
inline Tensor narrowed(const Tensor& t, DType dtype) { return t->dtype() == dtype ? t : to_dtype(t, dtype); }

inline bool window_of(int n, PyObject* stride, PyObject* padding, PyObject* dilation, Window* w) {
  return pair_of(stride, n, 1, 1, w->stride) && pair_of(padding, n, 0, 0, w->padding) &&
         pair_of(dilation, n, 1, 1, w->dilation);
}

// One or `n` numbers as those of depth, height and width; of the first dims, those that are not there, `missing`.
inline bool triple_of(PyObject* o, int n, int64_t least, int64_t missing, int64_t (&out)[3]) {
  Dims dims;
  if (!dims_of(o, &dims)) {
    PyErr_Clear();
    return false;
  }
  if (dims.empty() || (dims.size() != 1 && dims.size() != size_t(n))) return false;
  for (int i = 0; i < 3; ++i) {
    const int own = i - (3 - n);
    out[i] = own < 0 ? missing : dims.size() == 1 ? dims[0] : dims[size_t(own)];
    if (out[i] < least || out[i] >= (int64_t(1) << 30)) return false;
  }
  return true;
}

struct Steps {
  int64_t kernel[3], stride[3], padding[3], dilation[3];
};
inline bool steps_of(int n, PyObject* stride, PyObject* padding, PyObject* dilation, Steps* s) {
  return triple_of(stride, n, 1, 1, s->stride) && triple_of(padding, n, 0, 0, s->padding) &&
         triple_of(dilation, n, 1, 1, s->dilation);
}
inline Box box_of(const Steps& s) {
  return {{{s.kernel[1], s.kernel[2]}, {s.stride[1], s.stride[2]}, {s.padding[1], s.padding[2]},
              {s.dilation[1], s.dilation[2]}},
      s.kernel[0], s.stride[0], s.padding[0], s.dilation[0]};
}

// How many windows stand in an image, height and width; false where there are none.
inline bool windows_in(const Window& w, int64_t height, int64_t width, int64_t (&many)[2]) {
  for (int i = 0; i < 2; ++i) {
    const int64_t room = (i ? width : height) + 2 * w.padding[i] - w.dilation[i] * (w.kernel[i] - 1) - 1;
    if (room < 0) return false;
    many[i] = room / w.stride[i] + 1;
  }
  return true;
}

inline bool wide_float(const Tensor& t) { return t->dtype() == DType::f32 || t->dtype() == DType::f64; }

}  // namespace

}  // namespace shim
