#include "cpu/statistics.h"

#include <algorithm>
#include <cmath>

#include "cpu/kernel_table.h"
#include "cpu/parallel.h"
#include "cpu/row_lanes.h"
#include "cpu/statistics_rows.h"
#include "cpu/vector_math.h"
#include "ops/kernels.h"

namespace shim {

namespace {

// Sums in double: of x, and of (x - m)^2.
template <class T> SHIM_MATH_CLONES double total(const T* x, int64_t n) {
  double lanes[kLanes] = {};
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes)
    for (int k = 0; k < kLanes; ++k) lanes[k] += double(x[i + k]);
  for (; i < n; ++i) lanes[0] += double(x[i]);
  double sum = 0;
  for (double l : lanes) sum += l;
  return sum;
}
template <class T> SHIM_MATH_CLONES double deviations(const T* x, double m, int64_t n) {
  double lanes[kLanes] = {};
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes)
    for (int k = 0; k < kLanes; ++k) {
      const double d = double(x[i + k]) - m;
      lanes[k] += d * d;
    }
  for (; i < n; ++i) lanes[0] += (double(x[i]) - m) * (double(x[i]) - m);
  double sum = 0;
  for (double l : lanes) sum += l;
  return sum;
}

// One long row in pieces that do not depend on the number of threads.
template <class F> double in_pieces(int64_t n, F&& f) {
  if (n < 2 * kGrain) return f(0, n);
  const int64_t pieces = (n + kGrain - 1) / kGrain;
  std::vector<double> partial;
  partial.resize(size_t(pieces));
  parallel_for(pieces, 1, [&](int64_t begin, int64_t end) {
    for (int64_t p = begin; p < end; ++p) partial[size_t(p)] = f(p * kGrain, std::min(kGrain, n - p * kGrain));
  });
  return total(partial.data(), pieces);
}

template <class T> void variances(const Rows& r, double correction, bool root, T* out, T* means) {
  const T* x = r.data->data_as<T>();
  const int64_t n = r.cols;
  parallel_each(r.rows, n, [&](int64_t row) {
    const T* from = x + row * n;
    const double m = in_pieces(n, [&](int64_t at, int64_t count) { return total(from + at, count); }) / double(n);
    const double d = in_pieces(n, [&](int64_t at, int64_t count) { return deviations(from + at, m, count); });
    const double v = d / std::max(double(n) - correction, 0.0);
    out[row] = T(root ? std::sqrt(v) : v);
    if (means) means[row] = T(m);
  });
}

// The variances, or their roots, and the means where asked for.
Outcome<DeviationAndMean> moments(
    const Tensor& self, OptionalDims dims, std::optional<double> given, bool keepdim, bool root, bool with_means) {
  if (!real_float(self)) return kNoRealFloats;
  const UnlockedWork others_run(self->numel());
  const DType compute = compute_dtype(self->dtype());
  const double correction = given.value_or(1);
  const auto r = rows_of(self, dims.value_or(IntArrayRef{}), keepdim, compute);
  if (!r) return r.why();
  if (r->cols == 0 || double(r->cols) <= correction) return NotMine{"no degrees of freedom"};
  Tensor out = empty(r->shape, compute, Device{}), means = with_means ? empty(r->shape, compute, Device{}) : Tensor{};
  if (compute == DType::f32)
    variances(*r, correction, root, out->data_as<float>(), means ? means->data_as<float>() : nullptr);
  else
    variances(*r, correction, root, out->data_as<double>(), means ? means->data_as<double>() : nullptr);
  if (means) means = of_dtype(means, self->dtype());
  return DeviationAndMean{of_dtype(out, self->dtype()), means};
}

Outcome<Tensor> first(const Outcome<DeviationAndMean>& both) {
  if (!both) return both.why();
  return std::get<0>(*both);
}

template <class T> SHIM_MATH_CLONES void norms_of_short(const T* x, int64_t rows, int64_t cols, T* out) {
  for (int64_t r = 0; r < rows; ++r) {
    double sum = 0;
    for (int64_t c = 0; c < cols; ++c) sum += double(x[r * cols + c]) * double(x[r * cols + c]);
    out[r] = T(std::sqrt(sum));
  }
}

Outcome<Tensor> euclidean_norm(const Tensor& self, IntArrayRef dims, bool keepdim) {
  const DType compute = compute_dtype(self->dtype());
  const auto r = rows_of(self, dims, keepdim, compute);
  if (!r) return r.why();
  Tensor out = empty(r->shape, compute, Device{});
  auto run = [&]<class T>(const T* x, T* y) {
    if (r->cols < kShortRow)
      return parallel_for(r->rows, std::max<int64_t>(1, kGrain / std::max<int64_t>(r->cols, 1)),
          [&](int64_t begin, int64_t end) { norms_of_short(x + begin * r->cols, end - begin, r->cols, y + begin); });
    parallel_each(r->rows, r->cols, [&](int64_t row) {
      const T* from = x + row * r->cols;
      y[row] =
          T(std::sqrt(in_pieces(r->cols, [&](int64_t at, int64_t count) { return deviations(from + at, 0, count); })));
    });
  };
  if (compute == DType::f32)
    run(r->data->data_as<float>(), out->data_as<float>());
  else
    run(r->data->data_as<double>(), out->data_as<double>());
  return of_dtype(out, self->dtype());
}

}  // namespace

Outcome<Tensor> var(const Tensor& self, OptionalDims dims, std::optional<double> correction, bool keepdim) {
  return first(moments(self, dims, correction, keepdim, false, false));
}
Outcome<Tensor> std_dev(const Tensor& self, OptionalDims dims, std::optional<double> correction, bool keepdim) {
  return first(moments(self, dims, correction, keepdim, true, false));
}
Outcome<DeviationAndMean> var_mean(const Tensor& self, OptionalDims dims, std::optional<double> correction, bool keep) {
  return moments(self, dims, correction, keep, false, true);
}
Outcome<DeviationAndMean> std_mean(const Tensor& self, OptionalDims dims, std::optional<double> correction, bool keep) {
  return moments(self, dims, correction, keep, true, true);
}

Outcome<Tensor> vector_norm(
    const Tensor& self, double order, OptionalDims dims, bool keepdim, std::optional<DType> dtype) {
  if (dtype) return NotMine{"a dtype given"};
  if (order != 2) return NotMine{"an order other than 2"};
  if (!real_float(self)) return kNoRealFloats;
  return unlocked(self->numel(), [&] { return euclidean_norm(self, dims.value_or(IntArrayRef{}), keepdim); });
}

}  // namespace shim
