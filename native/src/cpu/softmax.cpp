// softmax and log_softmax along one dimension, computed in float32 or float64.
#include <algorithm>
#include <cmath>
#include <limits>

#include "cpu/kernel_table.h"
#include "cpu/parallel.h"
#include "cpu/reduce.h"
#include "cpu/vector_math.h"
#include "ops/kernels.h"

namespace shim {
namespace {

constexpr int kLanes = 16;

template <class T>
SHIM_MATH_CLONES T largest(const T* x, int64_t n) {
  T lanes[kLanes];
  for (T& l : lanes) l = -std::numeric_limits<T>::infinity();
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes)
    for (int k = 0; k < kLanes; ++k) lanes[k] = x[i + k] > lanes[k] ? x[i + k] : lanes[k];
  for (; i < n; ++i) lanes[0] = x[i] > lanes[0] ? x[i] : lanes[0];
  return *std::max_element(lanes, lanes + kLanes);
}

// y = exp(x - m), and their sum. A NaN among x reaches the sum.
template <class T>
SHIM_MATH_CLONES T exponentials(const T* x, T* y, T m, int64_t n) {
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

template <class T>
SHIM_MATH_CLONES void scale(T* y, T by, int64_t n) { for (int64_t i = 0; i < n; ++i) y[i] *= by; }
template <class T>
SHIM_MATH_CLONES void shift(const T* x, T* y, T by, int64_t n) { for (int64_t i = 0; i < n; ++i) y[i] = x[i] - by; }

template <class T>
void rows_of(const T* x, T* y, int64_t rows, int64_t cols, bool log) {
  parallel_for(rows, std::max<int64_t>(1, kGrain / (4 * std::max<int64_t>(cols, 1))), [&](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r) {
      const T* from = x + r * cols;
      T* to = y + r * cols;
      const T m = largest(from, cols), sum = exponentials(from, to, m, cols);
      if (log) shift(from, to, T(m + std::log(sum)), cols);
      else scale(to, T(1) / sum, cols);
    }
  });
}

}  // namespace

Tensor softmax(const Tensor& self, int64_t dim, bool log, DType dtype) {
  const DType result = dtype == DType::undefined ? self->dtype() : dtype, compute = compute_dtype(result);
  if (!self->device().is_cpu() || (compute != DType::f32 && compute != DType::f64)) return {};
  if (itemsize(self->dtype()) == 1 && is_floating(self->dtype())) return {};
  const int64_t n = self->dim(), d = wrap_dim(dim, n);
  Tensor in = n ? transpose(*self, d, n - 1) : self;
  if (in->dtype() != compute || !in->is_contiguous()) {
    Tensor packed = empty(in->sizes(), compute, Device{});
    copy_(packed, in);
    in = packed;
  }
  Tensor out = empty(in->sizes(), compute, Device{});
  const int64_t cols = n ? in->sizes()[size_t(n - 1)] : 1, rows = cols ? in->numel() / cols : 0;
  if (compute == DType::f32) rows_of(in->data_as<float>(), out->data_as<float>(), rows, cols, log);
  else rows_of(in->data_as<double>(), out->data_as<double>(), rows, cols, log);
  if (d != n - 1 && n) out = contiguous(transpose(*out, d, n - 1));
  return result == compute ? out : to_dtype(out, result);
}

}  // namespace shim
