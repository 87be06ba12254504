#include "cpu/distance.h"

#include <algorithm>
#include <cmath>

#include "cpu/kernel_table.h"
#include "cpu/parallel.h"
#include "ops/kernels.h"

namespace shim {
namespace {

constexpr int64_t kStrip = 128;

struct Absolute {
  template <class T> static T f(T sum, T d) { return sum + std::fabs(d); }
  template <class T> static T end(T sum) { return sum; }
};
struct Square {
  template <class T> static T f(T sum, T d) { return sum + d * d; }
  template <class T> static T end(T sum) { return std::sqrt(sum); }
};
struct Largest {
  template <class T> static T f(T most, T d) {
    return std::fabs(d) > most ? std::fabs(d) : most;
  }  // NaNs are passed over, as PyTorch does
  template <class T> static T end(T most) { return most; }
};

// From one row to `width` others, whose columns lie `step` apart.
template <class Norm, class T>
SHIM_MATH_CLONES void from_row(const T* row, const T* others, T* out, int64_t cols, int64_t step, int64_t width) {
  T sums[kStrip] = {};
  for (int64_t k = 0; k < cols; ++k)
    for (int64_t c = 0; c < width; ++c) sums[c] = Norm::f(sums[c], row[k] - others[k * step + c]);
  for (int64_t c = 0; c < width; ++c) out[c] = Norm::end(sums[c]);
}

template <class Norm, class T> Tensor between(const Tensor& a, const Tensor& columns, const Dims& shape) {
  const int64_t p = shape[shape.size() - 2], r = shape.back(), cols = a->sizes().back(),
                batches = product_of(shape, 0, shape.size() - 2);
  Tensor out = empty(shape, a->dtype(), Device{});
  const T *x = a->data_as<T>(), *y = columns->data_as<T>();
  parallel_for(
      batches * p, std::max<int64_t>(1, kGrain / std::max<int64_t>(1, r * cols)), [&](int64_t begin, int64_t end) {
        for (int64_t row = begin; row < end; ++row)
          for (int64_t at = 0; at < r; at += kStrip)
            from_row<Norm>(x + row * cols, y + row / p * cols * r + at, out->data_as<T>() + row * r + at, cols, r,
                std::min(kStrip, r - at));
      });
  return out;
}

}  // namespace

Outcome<Tensor> cdist(const Tensor& a, const Tensor& b, double norm, std::optional<int64_t> compute_mode) {
  const DType t = a->dtype();
  const size_t n = size_t(a->dim());
  if (compute_mode && (*compute_mode < 0 || *compute_mode > 2)) return NotMine{"a compute_mode that is none"};
  if ((t != DType::f32 && t != DType::f64) || b->dtype() != t) return NotMine{"dtypes other than one float"};
  if (n < 2 || size_t(b->dim()) != n || a->sizes()[n - 1] != b->sizes()[n - 1] ||
      !std::equal(a->sizes().begin(), a->sizes().end() - 2, b->sizes().begin()))
    return NotMine{"rows of other sizes, or batches that broadcast"};
  const UnlockedWork others_run(a->numel() * b->size(-2));
  Dims shape(a->sizes().begin(), a->sizes().end());
  shape[n - 1] = b->sizes()[n - 2];
  const Tensor rows = contiguous(a), columns = contiguous(transpose(*b, int64_t(n) - 2, int64_t(n) - 1));
  auto with = [&]<class N>(N) -> Outcome<Tensor> {
    return t == DType::f32 ? between<N, float>(rows, columns, shape) : between<N, double>(rows, columns, shape);
  };
  if (norm == 1) return with(Absolute{});
  if (norm == 2) return with(Square{});
  return std::isinf(norm) && norm > 0 ? with(Largest{}) : NotMine{"a norm other than 1, 2 and infinity"};
}

}  // namespace shim
