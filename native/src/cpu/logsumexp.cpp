// Logarithms of sums of exponentials.
#include <algorithm>
#include <cmath>

#include "cpu/formulas.h"
#include "cpu/kernel_table.h"
#include "cpu/parallel.h"
#include "cpu/row_lanes.h"
#include "cpu/reduce.h"
#include "cpu/statistics.h"
#include "cpu/statistics_rows.h"
#include "cpu/vector_math.h"
#include "ops/kernels.h"

namespace shim {

namespace {

// Of short rows, as many as fit a buffer at a time: exponentials and logarithms of all of them, so that vectors are full.
constexpr int64_t kTogether = 2048;
template <class T>
SHIM_MATH_CLONES void exponentials_and_sums(T* x, const T* most, int64_t rows, int64_t cols, T* out) {
  for (int64_t i = 0; i < rows * cols; ++i) x[i] = exp_below(x[i]);
  for (int64_t r = 0; r < rows; ++r) {
    T sum = 0;
    for (int64_t c = 0; c < cols; ++c) sum += x[r * cols + c];
    out[r] = sum;
  }
  for (int64_t r = 0; r < rows; ++r) out[r] = most[r] - most[r] == T(0) ? most[r] + log_of(out[r]) : most[r];
}
template <class T> void short_log_sums(const T* x, int64_t rows, int64_t cols, T* out) {
  T buffer[kTogether], most[kTogether];
  for (int64_t at = 0, count; at < rows; at += count) {
    count = std::min(rows - at, kTogether / cols);
    for (int64_t r = 0; r < count; ++r) {
      const T* row = x + (at + r) * cols;
      T m = row[0];
      for (int64_t c = 1; c < cols; ++c) m = row[c] > m || row[c] != row[c] ? row[c] : m;
      most[r] = m;
      for (int64_t c = 0; c < cols; ++c) buffer[r * cols + c] = std::isfinite(m) ? row[c] - m : T(0);
    }
    exponentials_and_sums(buffer, most, count, cols, out + at);
  }
}

template <class T> void log_sums(const Rows& r, T* out) {
  const T* x = r.data->data_as<T>();
  if (r.cols < kShortRow)
    return parallel_for(r.rows, std::max<int64_t>(1, kGrain / (8 * r.cols)),
        [&](int64_t begin, int64_t end) { short_log_sums(x + begin * r.cols, end - begin, r.cols, out + begin); });
  parallel_each(r.rows, r.cols, [&](int64_t row) {
    const T* from = x + row * r.cols;
    const T m = extreme_value(from, r.cols, true);
    out[row] = std::isfinite(m) ? m + std::log(sum_of_exponentials(from, m, r.cols)) : m;
  });
}

// Of 16 bits: PyTorch rounds the differences, their exponentials, the sum and its logarithm.
void narrow_log_sums(const Rows& r, DType t, float* out) {
  const float* x = r.data->data_as<float>();
  parallel_each(r.rows, r.cols, [&](int64_t row) {
    const float* from = x + row * r.cols;
    const float m = extreme_value(from, r.cols, true);
    float sum = 0;
    if (std::isfinite(m))
      for (int64_t c = 0; c < r.cols; ++c) sum += rounded_to(t, exp_below(rounded_to(t, from[c] - m)));
    out[row] = std::isfinite(m) ? m + rounded_log(sum, t) : m;
  });
}

}  // namespace

Outcome<Tensor> logsumexp(const Tensor& self, IntArrayRef dims, bool keepdim) {
  if (!real_float(self)) return kNoRealFloats;
  const UnlockedWork others_run(self->numel());
  const DType compute = compute_dtype(self->dtype());
  const auto r = rows_of(self, dims, keepdim, compute);
  if (!r) return r.why();
  if (r->cols == 0) return NotMine{"no elements"};
  Tensor out = empty(r->shape, compute, Device{});
  if (compute != self->dtype())
    narrow_log_sums(*r, self->dtype(), out->data_as<float>());
  else if (compute == DType::f32)
    log_sums(*r, out->data_as<float>());
  else
    log_sums(*r, out->data_as<double>());
  return of_dtype(out, self->dtype());
}

}  // namespace shim
