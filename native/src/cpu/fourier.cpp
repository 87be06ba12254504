#include "cpu/fourier.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <mutex>

#include "core/order.h"
#include "cpu/fourier_lines.h"
#include "cpu/fourier_plan.h"
#include "cpu/parallel.h"
#include "ops/kernels.h"

namespace shim {
namespace {

enum class Fourier : uint8_t { complex, from_real, from_real_whole, to_real };

// Plans of the lengths last asked for.
template <class T> std::shared_ptr<const FourierPlan<T>> plan_of(int64_t n) {
  static std::mutex mutex;
  static auto& plans = *new std::map<int64_t, std::shared_ptr<const FourierPlan<T>>>;
  std::lock_guard lock(mutex);
  if (plans.size() > 64) plans.clear();
  auto& plan = plans[n];
  if (!plan) plan = std::make_shared<FourierPlan<T>>(n);
  return plan;
}

// Lines along the middle one of outer x n x inner numbers.
struct Lines {
  int64_t count, inner;
  int64_t start(int64_t line, int64_t n) const { return line / inner * n * inner + line % inner; }
};

// Groups of lines, with room for `room` numbers of each in x and y: f(x, y, first, lanes).
template <class T, class F> void each_group(int64_t lines, int64_t room, F&& f) {
  // Enough to fill vectors, few enough that a line is in the cache when its next part is written.
  const int64_t fitting = room * int64_t(sizeof(T)) <= 512 ? 16 : 8;
  const int64_t most = std::min<int64_t>(fitting, lines), groups = (lines + most - 1) / most;
  parallel_for(groups, std::max<int64_t>(1, kGrain / (4 * most * room)), [&](int64_t begin, int64_t end) {
    constexpr size_t kCacheLine = 64;  // parts begin with one: vectors across two take twice as long
    size_t part = (size_t(most * room) + kCacheLine - 1) / kCacheLine * kCacheLine,
           space = 4 * part * sizeof(T) + kCacheLine;
    const std::unique_ptr<char[]> memory = std::make_unique_for_overwrite<char[]>(space);
    void* start = memory.get();
    T* at = static_cast<T*>(std::align(kCacheLine, 4 * part * sizeof(T), start, space));
    const Split<T> x{at, at + part}, y{at + 2 * part, at + 3 * part};
    for (int64_t g = begin; g < end; ++g) f(x, y, g * most, std::min(most, lines - g * most));
  });
}

// f(i, k) for lanes and the numbers of each, few enough at a time that what lies across stays near.
template <class F> void each_number(int64_t lanes, int64_t n, F&& f) {
  constexpr int64_t kNear = 16;
  for (int64_t at = 0; at < n; at += kNear)
    for (int64_t i = 0; i < lanes; ++i)
      for (int64_t k = at; k < std::min(n, at + kNear); ++k) f(i, k);
}

// in, out: pairs of real and imaginary parts; they may be the same.
template <class T> void complex_lines(const T* in, T* out, Lines l, int64_t n, bool forward, T scale) {
  const auto plan = plan_of<T>(n);
  each_group<T>(l.count, std::max(plan->room(), n), [&](Split<T> a, Split<T> b, int64_t first, int64_t lanes) {
    const Split<T> x = forward ? a : a.swapped(), y = forward ? b : b.swapped();
    const int64_t at = 2 * l.start(first, n);
    const bool rows = l.inner == 1, side_by_side = first % l.inner + lanes <= l.inner;
    int64_t starts[16];
    for (int64_t i = 0; i < lanes; ++i) starts[i] = 2 * l.start(first + i, n);
    if (rows)
      lines_in(in + at, 2 * n, n, lanes, a.re, a.im);
    else if (side_by_side)
      neighbours_in(in + at, 2 * l.inner, n, lanes, a.re, a.im);
    else
      each_number(lanes, n, [&](int64_t i, int64_t k) {
        const T* from = in + starts[i] + 2 * k * l.inner;
        a.re[k * lanes + i] = from[0], a.im[k * lanes + i] = from[1];
      });
    Split<T> r = plan->run(x, y, lanes);
    if (!forward) r = r.swapped();
    if (rows)
      lines_out(r.re, r.im, n, lanes, scale, out + at, 2 * n);
    else if (side_by_side)
      neighbours_out(r.re, r.im, n, lanes, scale, out + at, 2 * l.inner);
    else
      each_number(lanes, n, [&](int64_t i, int64_t k) {
        T* to = out + starts[i] + 2 * k * l.inner;
        to[0] = r.re[k * lanes + i] * scale, to[1] = r.im[k * lanes + i] * scale;
      });
  });
}

// The numbers beyond the middle of a row of n are the conjugates of those before it.
template <class T> void mirror(T* row, int64_t n) {
  for (int64_t k = 1; k < n - k; ++k) row[2 * (n - k)] = row[2 * k], row[2 * (n - k) + 1] = -row[2 * k + 1];
}

// Rows of n real numbers to n / 2 + 1 complex ones, or to all n. Of an even number pairs are transformed as complex numbers z:
// X[k] = (Z[k] + Z*[m - k]) / 2 - i / 2 turn(k / n) (Z[k] - Z*[m - k]).
template <class T> void from_real_lines(const T* in, T* out, int64_t rows, int64_t n, bool whole, T scale) {
  const bool even = n % 2 == 0;
  const int64_t m = even ? n / 2 : n, half = n / 2 + 1, width = whole ? n : half;
  const auto plan = plan_of<T>(m);
  each_group<T>(rows, std::max(plan->room(), half), [&](Split<T> x, Split<T> y, int64_t first, int64_t lanes) {
    if (even) {
      lines_in(in + first * n, n, m, lanes, x.re, x.im);
      const Split<T> z = plan->run(x, y, lanes), r = z.re == x.re ? y : x;
      pairs_apart(z.re, z.im, plan->half_cosines(), plan->half_sines(), m, lanes, r.re, r.im);
      lines_out(r.re, r.im, half, lanes, scale, out + 2 * first * width, 2 * width);
      for (int64_t i = 0; whole && i < lanes; ++i) mirror(out + 2 * (first + i) * n, n);
      return;
    }
    each_number(lanes, m,
        [&](int64_t i, int64_t k) { x.re[k * lanes + i] = in[(first + i) * n + k], x.im[k * lanes + i] = T(0); });
    const Split<T> z = plan->run(x, y, lanes);
    each_number(lanes, half, [&](int64_t i, int64_t k) {
      T* to = out + 2 * (first + i) * width;
      to[2 * k] = z.re[k * lanes + i] * scale, to[2 * k + 1] = k ? z.im[k * lanes + i] * scale : T(0);
    });
    for (int64_t i = 0; whole && i < lanes; ++i) mirror(out + 2 * (first + i) * n, n);
  });
}

// The way back, from rows of n / 2 + 1 of which the first and (n even) the last count as real.
template <class T> void to_real_lines(const T* in, T* out, int64_t rows, int64_t n, T scale) {
  const bool even = n % 2 == 0;
  const int64_t m = even ? n / 2 : n, half = n / 2 + 1;
  const auto plan = plan_of<T>(m);
  each_group<T>(rows, std::max(plan->room(), half), [&](Split<T> a, Split<T> b, int64_t first, int64_t lanes) {
    if (even) {
      lines_in(in + 2 * first * half, 2 * half, half, lanes, b.re, b.im);
      pairs_together(b.re, b.im, plan->half_cosines(), plan->half_sines(), m, lanes, a.re, a.im);
      const Split<T> r = plan->run(a.swapped(), b.swapped(), lanes).swapped();
      return lines_out(r.re, r.im, m, lanes, scale, out + first * n, n);
    }
    each_number(lanes, m, [&](int64_t i, int64_t k) {
      const T* from = in + 2 * (first + i) * half;
      a.re[k * lanes + i] = from[2 * (k < half ? k : n - k)];
      a.im[k * lanes + i] = k == 0 ? T(0) : k < half ? from[2 * k + 1] : -from[2 * (n - k) + 1];
    });
    const Split<T> r = plan->run(a.swapped(), b.swapped(), lanes).swapped();
    each_number(lanes, m, [&](int64_t i, int64_t k) { out[(first + i) * n + k] = r.re[k * lanes + i] * scale; });
  });
}

// The transforms of all dims, which are the last `count` of a contiguous tensor.
template <class T>
Tensor transformed(Fourier kind, const Tensor& in, size_t count, bool forward, T scale, int64_t last_size) {
  Dims shape(in->sizes().begin(), in->sizes().end());
  const size_t n = shape.size();
  const bool halved = kind != Fourier::complex, to_real = kind == Fourier::to_real;
  const DType real = sizeof(T) == 4 ? DType::f32 : DType::f64, pairs = sizeof(T) == 4 ? DType::c64 : DType::c128;
  const T* from = static_cast<const T*>(in->data());
  Tensor at = in;
  if (halved && !to_real) {
    const int64_t size = shape[n - 1], rows = in->numel() / size;
    if (kind == Fourier::from_real) shape[n - 1] = size / 2 + 1;
    at = empty(shape, pairs, Device{});
    from_real_lines(
        from, static_cast<T*>(at->data()), rows, size, kind == Fourier::from_real_whole, count == 1 ? scale : T(1));
  }
  for (size_t i = halved ? 1 : 0; i < count; ++i) {
    const size_t d = n - 1 - i;
    const Tensor to = at == in ? empty(shape, pairs, Device{}) : at;
    const Lines l{to->numel() / shape[d], product_of(shape, d + 1, n)};
    complex_lines(static_cast<const T*>(at->data()), static_cast<T*>(to->data()), l, shape[d], forward,
        i + 1 == count && !to_real ? scale : T(1));
    at = to;
  }
  if (!to_real) return at;
  shape[n - 1] = last_size;
  const Tensor out = empty(shape, real, Device{});
  to_real_lines(
      static_cast<const T*>(at->data()), static_cast<T*>(out->data()), out->numel() / last_size, last_size, scale);
  return out;
}

// The dims in order of memory as PyTorch leaves the result: the others first, each part with its largest strides first, and `last`,
// where one dim is halved, at the very end.
struct OrderedDims {
  Dims transformed, all;
};
Outcome<OrderedDims> ordered(const TensorImpl& self, IntArrayRef given, bool halved) {
  const int64_t n = self.dim();
  bool among[kMaxDims] = {};
  Dims dims(given.begin(), given.end()), order;
  for (int64_t& d : dims) {
    if (d < -n || d >= n) return NotMine{"a dim out of range"};
    if (d < 0) d += n;
    if (among[d]) return NotMine{"a dim named twice"};
    among[d] = true;
  }
  if (dims.empty() || !self.numel()) return NotMine{"no dims or no elements"};
  auto slower = [&](int64_t a, int64_t b) { return self.strides()[size_t(a)] > self.strides()[size_t(b)]; };
  sort_few(dims.data(), dims.data() + dims.size() - halved, slower);
  for (int64_t d = 0; d < n; ++d)
    if (!among[d]) order.push_back(d);
  sort_few(order.data(), order.data() + order.size(), slower);
  order.insert(order.end(), dims.begin(), dims.end());
  return OrderedDims{dims, order};
}

double scale_of(int64_t normalization, int64_t count) {
  return normalization == 1 ? 1 / std::sqrt(double(count)) : normalization == 2 ? 1 / double(count) : 1;
}

Outcome<Tensor> fourier(
    Fourier kind, const Tensor& self, IntArrayRef given, int64_t normalization, bool forward, int64_t last_size) {
  const DType t = self->dtype();
  const bool from_real = kind == Fourier::from_real || kind == Fourier::from_real_whole,
             to_real = kind == Fourier::to_real, narrow = t == DType::f32 || t == DType::c64;
  const auto dims = ordered(*self, given, kind != Fourier::complex);
  if (!dims) return dims.why();
  const auto& [transformed_dims, order] = *dims;
  if (to_real && (last_size < 1 || self->size(transformed_dims.back()) != last_size / 2 + 1))
    return NotMine{"a size that the input has not"};
  if (from_real ? t != DType::f32 && t != DType::f64 : t != DType::c64 && t != DType::c128)
    return NotMine{"a dtype without transforms"};
  int64_t count = 1;
  for (int64_t d : transformed_dims) count *= to_real && d == transformed_dims.back() ? last_size : self->size(d);
  const double scale = scale_of(normalization, count);
  const UnlockedWork others_run(self->numel());
  const Tensor in = contiguous(permute(*self, order));
  Dims back(order.size(), 0);
  for (size_t i = 0; i < order.size(); ++i) back[size_t(order[i])] = int64_t(i);
  const size_t many = transformed_dims.size();
  const Tensor out = narrow ? transformed<float>(kind, in, many, forward, float(scale), last_size)
                            : transformed<double>(kind, in, many, forward, scale, last_size);
  return permute(*out, back);
}

}  // namespace

Outcome<Tensor> fft_c2c(const Tensor& self, IntArrayRef dims, int64_t normalization, bool forward) {
  return fourier(Fourier::complex, self, dims, normalization, forward, 0);
}
Outcome<Tensor> fft_r2c(const Tensor& self, IntArrayRef dims, int64_t normalization, bool onesided) {
  return fourier(onesided ? Fourier::from_real : Fourier::from_real_whole, self, dims, normalization, true, 0);
}
Outcome<Tensor> fft_c2r(const Tensor& self, IntArrayRef dims, int64_t normalization, int64_t last_dim_size) {
  return fourier(Fourier::to_real, self, dims, normalization, false, last_dim_size);
}

}  // namespace shim
