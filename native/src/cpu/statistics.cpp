#include "cpu/statistics.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>

#include "cpu/kernel_table.h"
#include "cpu/parallel.h"
#include "cpu/reduce.h"
#include "cpu/row_lanes.h"
#include "cpu/vector_math.h"
#include "ops/kernels.h"

namespace shim {
namespace {

// The tensor as rows to be reduced: contiguous, of the compute dtype; reduced dims last.
struct Rows {
  Tensor data;
  int64_t rows = 1, cols = 1;
  Dims shape;  // of the result
};

bool rows_of(const Tensor& self, DimSpan dims, bool keepdim, DType compute, Rows* r) {
  const int n = self->dim();
  bool reduced[kMaxDims] = {};
  if (dims.empty()) std::fill_n(reduced, n, true);
  for (int64_t d : dims) {
    if (n == 0 ? d < -1 || d > 0 : d < -n || d >= n) return false;
    bool& mark = reduced[d < 0 ? d + n : d];
    if (n && mark) return false;
    mark = true;
  }
  Dims order, last;
  for (int d = 0; d < n; ++d) {
    (reduced[d] ? last : order).push_back(d);
    (reduced[d] ? r->cols : r->rows) *= self->sizes()[size_t(d)];
    if (!reduced[d] || keepdim) r->shape.push_back(reduced[d] ? 1 : self->sizes()[size_t(d)]);
  }
  order.insert(order.end(), last.begin(), last.end());
  Tensor seen = std::is_sorted(order.begin(), order.end()) ? self : permute(*self, order);
  if (seen->dtype() != compute || !seen->is_contiguous()) {
    Tensor packed = empty(seen->sizes(), compute, Device{});
    copy_(packed, seen);
    seen = packed;
  }
  r->data = seen;
  return true;
}

template <class F> void each_row(int64_t rows, int64_t cols, F&& f) {
  parallel_for(rows, std::max<int64_t>(1, kGrain / std::max<int64_t>(cols, 1)), [&](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r) f(r);
  });
}

bool real_float(const Tensor& t) { return t->device().is_cpu() && is_floating(t->dtype()) && t->itemsize() > 1; }

Tensor narrowed(const Tensor& t, DType dtype) { return t->dtype() == dtype ? t : to_dtype(t, dtype); }

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
  each_row(r.rows, n, [&](int64_t row) {
    const T* from = x + row * n;
    const double m = in_pieces(n, [&](int64_t at, int64_t count) { return total(from + at, count); }) / double(n);
    const double d = in_pieces(n, [&](int64_t at, int64_t count) { return deviations(from + at, m, count); });
    const double v = d / std::max(double(n) - correction, 0.0);
    out[row] = T(root ? std::sqrt(v) : v);
    if (means) means[row] = T(m);
  });
}

template <class T, bool Largest> SHIM_MATH_CLONES T extreme_int(const T* x, int64_t n) {
  T best = x[0];
  for (int64_t i = 0; i < n; ++i) best = (Largest ? x[i] > best : x[i] < best) ? x[i] : best;
  return best;
}
template <class T, bool Largest> T extreme(const T* x, int64_t n) {
  if constexpr (std::is_floating_point_v<T>)
    return extreme_value(x, n, Largest);
  else
    return extreme_int<T, Largest>(x, n);
}

template <class T> SHIM_MATH_CLONES int64_t first_equal(const T* x, T value, int64_t n) {
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    bool hit = false;
    for (int k = 0; k < kLanes; ++k) hit |= x[i + k] == value;
    if (hit) break;
  }
  while (i < n && x[i] != value) ++i;
  return i;
}

template <class T, bool Largest> void extremes(const Rows& r, int64_t* index, T* values) {
  const T* x = r.data->data_as<T>();
  each_row(r.rows, r.cols, [&](int64_t row) {
    const T* from = x + row * r.cols;
    const T best = extreme<T, Largest>(from, r.cols);
    int64_t at = 0;
    if (best != best)
      while (from[at] == from[at]) ++at;
    else
      at = first_equal(from, best, r.cols);
    index[row] = at;
    if (values) values[row] = from[at];
  });
}

template <class T> SHIM_CLONES int64_t non_zeros(const T* x, int64_t n) {
  using Part = std::conditional_t<sizeof(T) == 8, uint64_t,
      std::conditional_t<sizeof(T) == 4, uint32_t, std::conditional_t<sizeof(T) == 2, uint16_t, uint8_t>>>;
  int64_t count = 0;
  for (int64_t at = 0; at < n; at += 128) {  // few enough for a sum as small as the elements
    const int64_t m = std::min<int64_t>(128, n - at);
    Part part = 0;
    for (int64_t i = 0; i < m; ++i) part = Part(part + (x[at + i] != T(0)));
    count += part;
  }
  return count;
}

// y = (x - m) * scale * weight + bias; weight and bias may be absent.
template <class T>
SHIM_MATH_CLONES void affine(const T* x, T* y, T m, T scale, const T* weight, const T* bias, int64_t n) {
  if (weight && bias)
    for (int64_t i = 0; i < n; ++i) y[i] = (x[i] - m) * scale * weight[i] + bias[i];
  else if (weight)
    for (int64_t i = 0; i < n; ++i) y[i] = (x[i] - m) * scale * weight[i];
  else if (bias)
    for (int64_t i = 0; i < n; ++i) y[i] = (x[i] - m) * scale + bias[i];
  else
    for (int64_t i = 0; i < n; ++i) y[i] = (x[i] - m) * scale;
}

template <class T>
void normalise(const T* x, T* y, int64_t rows, int64_t cols, const T* weight, const T* bias, double eps, bool centred) {
  each_row(rows, cols, [&](int64_t row) {
    const T* from = x + row * cols;
    const double m = centred ? total(from, cols) / double(cols) : 0;
    const double scale = 1 / std::sqrt(deviations(from, m, cols) / double(cols) + eps);
    affine(from, y + row * cols, T(m), T(scale), weight, bias, cols);
  });
}

constexpr int64_t kShortRow = 32;  // below, lanes of a row are mostly empty

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
  each_row(r.rows, r.cols, [&](int64_t row) {
    const T* from = x + row * r.cols;
    const T m = extreme<T, true>(from, r.cols);
    out[row] = std::isfinite(m) ? m + std::log(sum_of_exponentials(from, m, r.cols)) : m;
  });
}

}  // namespace

Tensor variance(const Tensor& self, DimSpan dims, bool keepdim, double correction, bool root, Tensor* mean) {
  Rows r;
  if (!real_float(self)) return {};
  const DType compute = compute_dtype(self->dtype());
  if (!rows_of(self, dims, keepdim, compute, &r) || r.cols == 0 || double(r.cols) <= correction) return {};
  Tensor out = empty(r.shape, compute, Device{}), means = mean ? empty(r.shape, compute, Device{}) : Tensor{};
  if (compute == DType::f32)
    variances(r, correction, root, out->data_as<float>(), means ? means->data_as<float>() : nullptr);
  else
    variances(r, correction, root, out->data_as<double>(), means ? means->data_as<double>() : nullptr);
  if (mean) *mean = narrowed(means, self->dtype());
  return narrowed(out, self->dtype());
}

Tensor arg_extreme(bool largest, const Tensor& self, int64_t dim, bool all, bool keepdim, Tensor* values) {
  const DType own = self->dtype(), compute = own == DType::b8 ? DType::u8 : compute_dtype(own);
  Rows r;
  const int64_t only[1] = {dim};
  if (!self->device().is_cpu() || self->numel() == 0 || is_complex(own) || (self->itemsize() == 1 && is_floating(own)))
    return {};
  if (!rows_of(self, all ? DimSpan{} : DimSpan(only, 1), keepdim, compute, &r)) return {};
  Tensor index = empty(r.shape, DType::i64, Device{}), picked = values ? empty(r.shape, compute, Device{}) : Tensor{};
  auto run = [&]<class T>(T) {
    T* to = picked ? picked->data_as<T>() : nullptr;
    largest ? extremes<T, true>(r, index->data_as<int64_t>(), to)
            : extremes<T, false>(r, index->data_as<int64_t>(), to);
  };
  switch (compute) {
    case DType::u8: run(uint8_t{}); break;
    case DType::i8: run(int8_t{}); break;
    case DType::i16: run(int16_t{}); break;
    case DType::i32: run(int32_t{}); break;
    case DType::i64: run(int64_t{}); break;
    case DType::f32: run(float{}); break;
    case DType::f64: run(double{}); break;
    default: return {};
  }
  if (values) *values = narrowed(picked, own);
  return index;
}

Tensor logsumexp(const Tensor& self, DimSpan dims, bool keepdim) {
  Rows r;
  if (!real_float(self)) return {};
  const DType compute = compute_dtype(self->dtype());
  if (!rows_of(self, dims, keepdim, compute, &r) || r.cols == 0) return {};
  Tensor out = empty(r.shape, compute, Device{});
  if (compute == DType::f32)
    log_sums(r, out->data_as<float>());
  else
    log_sums(r, out->data_as<double>());
  return narrowed(out, self->dtype());
}

Tensor count_nonzero(const Tensor& self, DimSpan dims) {
  Rows r;
  const DType own = self->dtype(), seen = own == DType::b8 ? DType::u8 : own;
  if (!self->device().is_cpu() || (self->itemsize() == 1 && is_floating(own))) return {};
  if (!rows_of(self, dims, false, own, &r)) return {};
  Tensor out = empty(r.shape, DType::i64, Device{});
  auto* to = out->data_as<int64_t>();
  auto run = [&]<class T>(T) {
    const T* x = static_cast<const T*>(r.data->data());
    if (r.rows == 1) {
      std::atomic<int64_t> total{0};
      parallel_for(r.cols, kGrain, [&](int64_t begin, int64_t end) { total += non_zeros(x + begin, end - begin); });
      to[0] = total;
    } else {
      each_row(r.rows, r.cols, [&](int64_t row) { to[row] = non_zeros(x + row * r.cols, r.cols); });
    }
    return out;
  };
  switch (seen) {
    case DType::u8:
    case DType::i8: return run(uint8_t{});
    case DType::i16: return run(int16_t{});
    case DType::i32: return run(int32_t{});
    case DType::i64: return run(int64_t{});
    case DType::f32: return run(float{});
    case DType::f64: return run(double{});
    default: return {};
  }
}

template <class T> SHIM_MATH_CLONES void norms_of_short(const T* x, int64_t rows, int64_t cols, T* out) {
  for (int64_t r = 0; r < rows; ++r) {
    double sum = 0;
    for (int64_t c = 0; c < cols; ++c) sum += double(x[r * cols + c]) * double(x[r * cols + c]);
    out[r] = T(std::sqrt(sum));
  }
}

Tensor norm2(const Tensor& self, DimSpan dims, bool keepdim) {
  Rows r;
  if (!real_float(self)) return {};
  const DType compute = compute_dtype(self->dtype());
  if (!rows_of(self, dims, keepdim, compute, &r)) return {};
  Tensor out = empty(r.shape, compute, Device{});
  auto run = [&]<class T>(const T* x, T* y) {
    if (r.cols < kShortRow)
      return parallel_for(r.rows, std::max<int64_t>(1, kGrain / std::max<int64_t>(r.cols, 1)),
          [&](int64_t begin, int64_t end) { norms_of_short(x + begin * r.cols, end - begin, r.cols, y + begin); });
    each_row(r.rows, r.cols, [&](int64_t row) {
      const T* from = x + row * r.cols;
      y[row] =
          T(std::sqrt(in_pieces(r.cols, [&](int64_t at, int64_t count) { return deviations(from + at, 0, count); })));
    });
  };
  if (compute == DType::f32)
    run(r.data->data_as<float>(), out->data_as<float>());
  else
    run(r.data->data_as<double>(), out->data_as<double>());
  return narrowed(out, self->dtype());
}

Tensor normalised(
    const Tensor& self, int64_t cols, const Tensor& weight, const Tensor& bias, double eps, bool centred) {
  if (!real_float(self) || cols == 0) return {};
  const DType compute = compute_dtype(self->dtype());
  auto ready = [&](const Tensor& t) {
    if (!t || (t->dtype() == compute && t->is_contiguous())) return t;
    Tensor packed = empty(t->sizes(), compute, Device{});
    copy_(packed, t);
    return packed;
  };
  Tensor x = ready(self), w = ready(weight), b = ready(bias), out = empty(self->sizes(), compute, Device{});
  auto run = [&]<class T>(T) {
    normalise(x->data_as<T>(), out->data_as<T>(), self->numel() / cols, cols, w ? w->data_as<T>() : nullptr,
        b ? b->data_as<T>() : nullptr, eps, centred);
  };
  compute == DType::f32 ? run(float{}) : run(double{});
  return narrowed(out, self->dtype());
}

}  // namespace shim
