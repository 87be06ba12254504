#include "cpu/row_gradients.h"

#include <algorithm>
#include <cmath>

#include "cpu/kernel_table.h"
#include "cpu/parallel.h"
#include "cpu/row_sums.h"
#include "cpu/vector_math.h"
#include "ops/kernels.h"

namespace shim {
namespace {

struct RowNorm {
  Tensor input, weight, bias;  // weight and bias may be null
  int64_t cols = 0, span = 0, groups = 1;
  bool centred = true;
};

constexpr NotMine kOtherDtypes{"tensors other than real floats of two bytes or more"};
constexpr int64_t kParts = 16;  // partial sums over rows: their number does not depend on the threads

bool takes(const Tensor& t) { return !t || (is_floating(t->dtype()) && t->itemsize() > 1); }
Tensor as(const Tensor& t, DType dtype) {
  return !t ? t : t->dtype() == dtype ? contiguous(t) : contiguous(to_dtype(t, dtype));
}
int64_t grain(int64_t cols) { return std::max<int64_t>(1, kGrain / (2 * std::max<int64_t>(cols, 1))); }

// f(lane, i) is added up over i in double.
template <class F> __attribute__((always_inline)) inline double lane_sum(int64_t n, F f) {
  double lanes[kLanes] = {};
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes)
    for (int k = 0; k < kLanes; ++k) lanes[k] += f(i + k);
  for (; i < n; ++i) lanes[0] += f(i);
  double sum = 0;
  for (double l : lanes) sum += l;
  return sum;
}

template <class T> SHIM_MATH_CLONES double sum_of(const T* x, int64_t n) {
  return lane_sum(n, [=](int64_t i) { return double(x[i]); });
}
template <class T> SHIM_MATH_CLONES double squares(const T* x, double m, int64_t n) {
  return lane_sum(n, [=](int64_t i) {
    const double d = double(x[i]) - m;
    return d * d;
  });
}

// y = (x - m) * r * w + b; w and b are one a column, or null.
template <class T> SHIM_MATH_CLONES void normalise(const T* x, T* y, T m, T r, const T* w, const T* b, int64_t n) {
  if (w && b)
    for (int64_t i = 0; i < n; ++i) y[i] = (x[i] - m) * r * w[i] + b[i];
  else if (w)
    for (int64_t i = 0; i < n; ++i) y[i] = (x[i] - m) * r * w[i];
  else if (b)
    for (int64_t i = 0; i < n; ++i) y[i] = (x[i] - m) * r + b[i];
  else
    for (int64_t i = 0; i < n; ++i) y[i] = (x[i] - m) * r;
}
template <class T> SHIM_MATH_CLONES void normalise_span(const T* x, T* y, T scale, T shift, int64_t n) {
  for (int64_t i = 0; i < n; ++i) y[i] = x[i] * scale + shift;
}

template <class T>
void norm_rows(const RowNorm& norm, const T* x, const T* w, const T* b, double eps, T* y, T* means, T* rstds) {
  const int64_t cols = norm.cols, rows = norm.input->numel() / cols, channels = norm.span ? cols / norm.span : 0;
  parallel_for(rows, grain(cols), [&](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r) {
      const T* from = x + r * cols;
      T* to = y + r * cols;
      const double m = norm.centred ? sum_of(from, cols) / double(cols) : 0, v = squares(from, m, cols) / double(cols);
      const T mean = T(m), rstd = T(1 / std::sqrt(v + eps));
      if (means) means[r] = mean, rstds[r] = rstd;
      if (!norm.span) {
        normalise(from, to, mean, rstd, w, b, cols);
        continue;
      }
      for (int64_t c = 0; c < channels; ++c) {
        const int64_t at = r % norm.groups * channels + c;
        const T scale = rstd * (w ? w[at] : T(1)), shift = (b ? b[at] : T(0)) - mean * scale;
        normalise_span(from + c * norm.span, to + c * norm.span, scale, shift, norm.span);
      }
    }
  });
}

template <class T>
SHIM_MATH_CLONES void row_slopes(
    const T* g, const T* x, T m, T r, const T* w, T* dx, T of_one, T of_normal, int64_t n) {
  if (w)
    for (int64_t i = 0; i < n; ++i) dx[i] = (g[i] * w[i] - of_one - (x[i] - m) * r * of_normal) * r;
  else
    for (int64_t i = 0; i < n; ++i) dx[i] = (g[i] - of_one - (x[i] - m) * r * of_normal) * r;
}
template <class T>
SHIM_MATH_CLONES RowSums<T> span_sums(const T* g, const T* x, T m, T r, int64_t n) {  // without a weight
  return {T(lane_sum(n, [=](int64_t i) { return double(g[i]); })),
      T(lane_sum(n, [=](int64_t i) { return double(g[i] * ((x[i] - m) * r)); }))};
}
template <class T>
SHIM_MATH_CLONES void span_slopes(const T* g, const T* x, T m, T r, T w, T* dx, T of_one, T of_normal, int64_t n) {
  for (int64_t i = 0; i < n; ++i) dx[i] = (g[i] * w - of_one - (x[i] - m) * r * of_normal) * r;
}

template <class T> struct NormBackward {
  const RowNorm& norm;
  const T *g, *x, *w, *means, *rstds;
  T* dx;

  void row(int64_t r, T* dw, T* db) const {
    const int64_t cols = norm.cols, at = r * cols;
    const T m = norm.centred ? means[r] : T(0), rstd = rstds[r];
    if (!norm.span) {
      const RowSums<T> s = row_sums(g + at, x + at, m, rstd, w, dw, db, cols);
      return row_slopes(
          g + at, x + at, m, rstd, w, dx + at, norm.centred ? s.dn / T(cols) : T(0), s.dn_normal / T(cols), cols);
    }
    const int64_t channels = cols / norm.span, first = r % norm.groups * channels;
    RowSums<T> all;
    for (int64_t c = 0; c < channels; ++c) {
      const int64_t from = at + c * norm.span;
      const RowSums<T> s = span_sums(g + from, x + from, m, rstd, norm.span);
      const T scale = w ? w[first + c] : T(1);
      all.dn += s.dn * scale, all.dn_normal += s.dn_normal * scale;
      if (dw) dw[first + c] += s.dn_normal;
      if (db) db[first + c] += s.dn;
    }
    const T one = norm.centred ? all.dn / T(cols) : T(0), normal = all.dn_normal / T(cols);
    for (int64_t c = 0; c < channels; ++c) {
      const int64_t from = at + c * norm.span;
      span_slopes(g + from, x + from, m, rstd, w ? w[first + c] : T(1), dx + from, one, normal, norm.span);
    }
  }

  void run(T* dw, T* db, int64_t channels) const {
    const int64_t rows = norm.input->numel() / norm.cols, parts = std::min(rows, kParts);
    std::vector<T> partial(size_t(parts * channels * 2), T(0));
    parallel_for(parts, rows * norm.cols < 2 * kGrain ? parts : 1, [&](int64_t begin, int64_t end) {
      for (int64_t p = begin; p < end; ++p)
        for (int64_t r = rows * p / parts; r < rows * (p + 1) / parts; ++r)
          row(r, dw ? partial.data() + 2 * p * channels : nullptr,
              db ? partial.data() + (2 * p + 1) * channels : nullptr);
    });
    for (int64_t p = 0; p < parts; ++p)
      for (int64_t c = 0; c < channels; ++c) {
        if (dw) dw[c] += partial[size_t(2 * p * channels + c)];
        if (db) db[c] += partial[size_t((2 * p + 1) * channels + c)];
      }
  }
};

Tensor filled(int64_t n, DType t, int64_t value) {
  Tensor made = empty(Dims{n}, t, Device{});
  fill_(made, Scalar{Scalar::Int, value});
  return made;
}
template <class T> T* data_or_null(const Tensor& t) { return t ? t->data_as<T>() : nullptr; }

// Anybody can call the operators: what does not fit is not ours.
Outcome<RowNorm> checked_norm(const Tensor& input, const OptionalTensor& weight, const OptionalTensor& bias,
    int64_t cols, int64_t span, int64_t groups, bool centred) {
  if (cols <= 0 || span < 0 || groups <= 0 || input->numel() % cols != 0 || (span && cols % span != 0))
    return NotMine{"rows, channels or groups that do not come out even"};
  const RowNorm norm{input, or_null(weight), or_null(bias), cols, span, groups, centred};
  const int64_t weights = span ? cols / span * groups : cols;
  for (const Tensor* t : {&norm.weight, &norm.bias})
    if (*t && (*t)->numel() != weights) return NotMine{"a weight or bias of another size"};
  if (!takes(input) || !takes(norm.weight) || !takes(norm.bias)) return kOtherDtypes;
  if (!input->numel()) return NotMine{"no elements"};
  return norm;
}

// The mean and reciprocal deviation of each row where asked for.
NormWithMoments row_norm(const RowNorm& norm, double eps, bool moments) {
  const UnlockedWork others_run(norm.input->numel());
  const DType result = norm.input->dtype(), compute = compute_dtype(result);
  const Tensor x = as(norm.input, compute), w = as(norm.weight, compute), b = as(norm.bias, compute);
  const int64_t rows = x->numel() / norm.cols;
  Tensor out = empty(x->sizes(), compute, Device{}), mean, rstd;
  if (moments) mean = empty(Dims{rows}, compute, Device{}), rstd = empty(Dims{rows}, compute, Device{});
  auto run = [&]<class T>(T) {
    norm_rows<T>(norm, x->data_as<T>(), data_or_null<T>(w), data_or_null<T>(b), eps, out->data_as<T>(),
        data_or_null<T>(mean), data_or_null<T>(rstd));
  };
  compute == DType::f64 ? run(double{}) : run(float{});
  return {of_dtype(out, result), mean, rstd};
}

// layer_norm and rms_norm, of which nothing is kept.
Outcome<Tensor> norm_of_last(const Tensor& input, IntArrayRef shape, const OptionalTensor& weight,
    const OptionalTensor& bias, bool centred, double eps) {
  const IntArrayRef sizes = input->sizes();
  if (shape.empty() || shape.size() > sizes.size() || !std::ranges::equal(shape, sizes.last(shape.size())))
    return NotMine{"a normalized_shape that is not the input's"};
  for (const OptionalTensor* t : {&weight, &bias})
    if (*t && ((**t)->dtype() != input->dtype() || !std::ranges::equal((**t)->sizes(), shape)))
      return NotMine{"a weight or bias of another shape or dtype"};
  if (!takes(input)) return kOtherDtypes;
  if (!input->numel()) return NotMine{"no elements"};
  const RowNorm norm{input, or_null(weight), or_null(bias), product(shape), 0, 1, centred};
  return std::get<0>(row_norm(norm, eps, false));
}

}  // namespace

Outcome<NormWithMoments> norm(const Tensor& input, const OptionalTensor& weight, const OptionalTensor& bias,
    int64_t cols, int64_t span, int64_t groups, bool centred, double eps) {
  const auto norm = checked_norm(input, weight, bias, cols, span, groups, centred);
  if (!norm) return norm.why();
  return row_norm(*norm, eps, true);
}

Outcome<Tensor> layer_norm(const Tensor& input, IntArrayRef shape, const OptionalTensor& weight,
    const OptionalTensor& bias, double eps, Ignored) {
  return norm_of_last(input, shape, weight, bias, true, eps);
}
Outcome<Tensor> rms_norm(
    const Tensor& input, IntArrayRef shape, const OptionalTensor& weight, std::optional<double> eps) {
  return norm_of_last(
      input, shape, weight, std::nullopt, false, eps.value_or(input->dtype() == DType::f64 ? 0x1p-52 : 0x1p-23));
}

Outcome<NormGradients> norm_backward(const Tensor& g, const Tensor& input, const OptionalTensor& weight,
    const Tensor& mean, const Tensor& rstd, int64_t cols, int64_t span, int64_t groups, bool centred, bool of_weight,
    bool of_bias) {
  const auto norm = checked_norm(input, weight, std::nullopt, cols, span, groups, centred);
  if (!norm) return norm.why();
  const int64_t rows = input->numel() / cols, channels = span ? groups * (cols / span) : cols;
  if (g->numel() != input->numel() || mean->numel() != rows || rstd->numel() != rows)
    return NotMine{"a gradient, means or deviations of other sizes"};
  if (!takes(g)) return kOtherDtypes;
  const UnlockedWork others_run(input->numel());
  const DType result = input->dtype(), compute = compute_dtype(result);
  const Tensor x = as(input, compute), dy = as(g, compute), m = as(mean, compute), r = as(rstd, compute);
  Tensor dx = empty(x->sizes(), compute, Device{}), w = as(norm->weight, compute), dw, db;
  if (of_weight && !w) w = filled(channels, compute, 1);
  if (of_weight) dw = filled(channels, compute, 0);
  if (of_bias) db = filled(channels, compute, 0);
  auto run = [&]<class T>(T) {
    NormBackward<T> b{*norm, dy->data_as<T>(), x->data_as<T>(), data_or_null<T>(w), m->data_as<T>(), r->data_as<T>(),
        dx->data_as<T>()};
    b.run(data_or_null<T>(dw), data_or_null<T>(db), channels);
  };
  compute == DType::f64 ? run(double{}) : run(float{});
  const auto given = [&](const Tensor& t) { return t ? of_dtype(t, result) : empty(Dims{0}, result, Device{}); };
  return NormGradients{of_dtype(dx, result), given(dw), given(db)};
}

}  // namespace shim
