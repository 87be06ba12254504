// softmax and log_softmax along one dimension, computed in float32 or float64.
#include <algorithm>
#include <cmath>
#include <limits>

#include "cpu/formulas.h"
#include "cpu/kernel_table.h"
#include "cpu/parallel.h"
#include "cpu/reduce.h"
#include "cpu/row_lanes.h"
#include "cpu/vector_math.h"
#include "ops/cuda_kernels.h"
#include "ops/kernels.h"

namespace shim {
namespace {

// y = exp(x - m), and their sum. A NaN among x reaches the sum.
template <class T> SHIM_MATH_CLONES T exponentials(const T* x, T* y, T m, int64_t n) {
  T lanes[kLanes] = {};
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes)
    for (int k = 0; k < kLanes; ++k) {
      T e = exp_below(x[i + k] - m);
      y[i + k] = e;
      lanes[k] += e;
    }
  for (; i < n; ++i) lanes[0] += y[i] = exp_below(x[i] - m);
  T sum = 0;
  for (T l : lanes) sum += l;
  return sum;
}

template <class T> SHIM_MATH_CLONES void scale(T* y, T by, int64_t n) {
  for (int64_t i = 0; i < n; ++i) y[i] *= by;
}
template <class T> SHIM_MATH_CLONES void shift(const T* x, T* y, T most, T by, int64_t n) {
  for (int64_t i = 0; i < n; ++i) y[i] = (x[i] - most) - by;
}  // together they would round in large x

// `narrow`: of 16 bits, PyTorch rounds the sum and its logarithm.
template <class T> void rows_of(const T* x, T* y, int64_t rows, int64_t cols, bool log, DType narrow) {
  parallel_for(rows, std::max<int64_t>(1, kGrain / (4 * std::max<int64_t>(cols, 1))), [&](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r) {
      const T* from = x + r * cols;
      T* to = y + r * cols;
      const T m = largest(from, cols);
      if (log)
        shift(from, to, m, rounded_log(sum_of_exponentials(from, m, cols), narrow), cols);
      else
        scale(to, T(1) / exponentials(from, to, m, cols), cols);
    }
  });
}

// One strip of neighbouring columns of (n, inner): largest, exponentials and their sums, then the quotients.
constexpr int64_t kStrip = 64;
template <class T> SHIM_MATH_CLONES void strip_of(const T* x, T* y, int64_t n, int64_t step, int64_t width, bool log) {
  T most[kStrip], sums[kStrip] = {};
  std::copy_n(x, width, most);
  for (int64_t i = 1; i < n; ++i)
    for (int64_t c = 0; c < width; ++c) most[c] = x[i * step + c] > most[c] ? x[i * step + c] : most[c];
  for (int64_t i = 0; i < n; ++i)
    for (int64_t c = 0; c < width; ++c) {
      const T e = exp_below(x[i * step + c] - most[c]);
      sums[c] += e;
      y[i * step + c] = e;
    }
  if (log) {
    for (int64_t c = 0; c < width; ++c) sums[c] = std::log(sums[c]);
    for (int64_t i = 0; i < n; ++i)
      for (int64_t c = 0; c < width; ++c) y[i * step + c] = (x[i * step + c] - most[c]) - sums[c];
  } else {
    for (int64_t c = 0; c < width; ++c) sums[c] = T(1) / sums[c];
    for (int64_t i = 0; i < n; ++i)
      for (int64_t c = 0; c < width; ++c) y[i * step + c] *= sums[c];
  }
}

template <class T> void columns_of(const T* x, T* y, int64_t outer, int64_t n, int64_t inner, bool log) {
  const int64_t strips = (inner + kStrip - 1) / kStrip;
  parallel_for(outer * strips, std::max<int64_t>(1, kGrain / (4 * std::max<int64_t>(n * kStrip, 1))),
      [&](int64_t begin, int64_t end) {
        for (int64_t s = begin; s < end; ++s) {
          const int64_t at = s / strips * n * inner + s % strips * kStrip;
          strip_of(x + at, y + at, n, inner, std::min(kStrip, inner - s % strips * kStrip), log);
        }
      });
}

Outcome<Tensor> softmax_of(const Tensor& self, int64_t dim, bool log, std::optional<DType> dtype) {
  const DType result = dtype.value_or(self->dtype()), compute = compute_dtype(result);
  if (self->device().is_meta()) return NotMine{"meta tensors"};
  if (compute != DType::f32 && compute != DType::f64) return NotMine{"no real floats"};
  if (itemsize(self->dtype()) == 1 && is_floating(self->dtype())) return NotMine{"8-bit floats"};
  const int64_t n = self->dim(), d = wrap_dim(dim, n);
  if (!self->device().is_cpu()) {
    Tensor in = contiguous(n ? transpose(*self, d, n - 1) : self), out = empty(in->sizes(), result, self->device());
    if (!cuda::softmax(*in, out, log, compute)) return NotMine{"no CUDA kernel of the dtype, or none compiled"};
    return d != n - 1 && n ? contiguous(transpose(*out, d, n - 1)) : out;
  }
  const UnlockedWork others_run(self->numel());
  Tensor in = self;
  if (in->dtype() != compute || !in->is_contiguous()) {
    in = empty(self->sizes(), compute, Device{});
    copy_(in, self);
  }
  Tensor out = empty(in->sizes(), compute, Device{});
  int64_t outer = 1, inner = 1;
  for (int64_t i = 0; i < n; ++i) (i < d ? outer : inner) *= i == d ? 1 : in->sizes()[size_t(i)];
  const int64_t length = n ? in->sizes()[size_t(d)] : 1;
  auto run = [&]<class T>(T) {
    const T* x = in->data_as<T>();
    T* y = out->data_as<T>();
    inner == 1 ? rows_of(x, y, outer, length, log, d == n - 1 ? result : compute)
               : columns_of(x, y, outer, length, inner, log);
  };
  if (out->numel()) compute == DType::f32 ? run(float{}) : run(double{});
  return result == compute ? out : to_dtype(out, result);
}

}  // namespace

Outcome<Tensor> softmax(const Tensor& self, int64_t dim, std::optional<DType> dtype) {
  return softmax_of(self, dim, false, dtype);
}
Outcome<Tensor> log_softmax(const Tensor& self, int64_t dim, std::optional<DType> dtype) {
  return softmax_of(self, dim, true, dtype);
}

}  // namespace shim
