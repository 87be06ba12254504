#include "cpu/fourier.h"

#include <algorithm>
#include <map>
#include <mutex>

#include "cpu/fourier_plan.h"
#include "cpu/parallel.h"
#include "ops/kernels.h"

namespace shim {
namespace {

// Plans of the lengths last asked for.
template <class T>
std::shared_ptr<const FourierPlan<T>> plan_of(int64_t n) {
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
template <class T, class F>
void each_group(int64_t lines, int64_t room, F&& f) {
  const int64_t most = std::min<int64_t>(room > 512 ? 8 : 16, lines), groups = (lines + most - 1) / most;
  parallel_for(groups, std::max<int64_t>(1, kGrain / (4 * most * room)), [&](int64_t begin, int64_t end) {
    const size_t part = size_t(most * room);
    std::vector<T> memory(4 * part);
    const Split<T> x{memory.data(), memory.data() + part}, y{memory.data() + 2 * part, memory.data() + 3 * part};
    for (int64_t g = begin; g < end; ++g) f(x, y, g * most, std::min(most, lines - g * most));
  });
}

// f(i, k) for lanes and the numbers of each, few enough at a time that what lies across stays near.
template <class F>
void each_number(int64_t lanes, int64_t n, F&& f) {
  constexpr int64_t kNear = 16;
  for (int64_t at = 0; at < n; at += kNear)
    for (int64_t i = 0; i < lanes; ++i)
      for (int64_t k = at; k < std::min(n, at + kNear); ++k) f(i, k);
}

// in, out: pairs of real and imaginary parts; they may be the same.
template <class T>
void complex_lines(const T* in, T* out, Lines l, int64_t n, bool forward, T scale) {
  const auto plan = plan_of<T>(n);
  each_group<T>(l.count, std::max(plan->room(), n), [&](Split<T> a, Split<T> b, int64_t first, int64_t lanes) {
    const Split<T> x = forward ? a : a.swapped(), y = forward ? b : b.swapped();
    int64_t starts[16];
    for (int64_t i = 0; i < lanes; ++i) starts[i] = 2 * l.start(first + i, n);
    each_number(lanes, n, [&](int64_t i, int64_t k) {
      const T* from = in + starts[i] + 2 * k * l.inner;
      a.re[k * lanes + i] = from[0], a.im[k * lanes + i] = from[1];
    });
    Split<T> r = plan->run(x, y, lanes);
    if (!forward) r = r.swapped();
    each_number(lanes, n, [&](int64_t i, int64_t k) {
      T* to = out + starts[i] + 2 * k * l.inner;
      to[0] = r.re[k * lanes + i] * scale, to[1] = r.im[k * lanes + i] * scale;
    });
  });
}

// Rows of n real numbers to n / 2 + 1 complex ones, or to all n. Of an even number pairs are transformed as complex numbers z:
// X[k] = (Z[k] + Z*[m - k]) / 2 - i / 2 turn(k / n) (Z[k] - Z*[m - k]).
template <class T>
void from_real_lines(const T* in, T* out, int64_t rows, int64_t n, bool whole, T scale) {
  const bool even = n % 2 == 0;
  const int64_t m = even ? n / 2 : n, half = n / 2 + 1, width = whole ? n : half;
  const auto plan = plan_of<T>(m);
  std::vector<T> c(size_t(half), 1), d(size_t(half), 0);
  for (int64_t k = 0; even && k < half; ++k) c[size_t(k)] = T(std::cos(-2 * std::numbers::pi * double(k) / double(n))), d[size_t(k)] = T(std::sin(-2 * std::numbers::pi * double(k) / double(n)));
  each_group<T>(rows, std::max(plan->room(), m), [&](Split<T> x, Split<T> y, int64_t first, int64_t lanes) {
    each_number(lanes, m, [&](int64_t i, int64_t k) {
      const T* from = in + (first + i) * n;
      x.re[k * lanes + i] = even ? from[2 * k] : from[k], x.im[k * lanes + i] = even ? from[2 * k + 1] : T(0);
    });
    const Split<T> z = plan->run(x, y, lanes);
    each_number(lanes, half, [&](int64_t i, int64_t k) {
      T* to = out + 2 * (first + i) * width;
      const int64_t p = (k == m ? 0 : k) * lanes + i, q = (k ? m - k : 0) * lanes + i;
      T re = z.re[p], im = z.im[p];
      if (even) {
        const T er = z.re[p] + z.re[q], ei = z.im[p] - z.im[q], fr = z.re[p] - z.re[q], fi = z.im[p] + z.im[q];
        re = T(0.5) * (er + fr * d[size_t(k)] + fi * c[size_t(k)]);
        im = T(0.5) * (ei + fi * d[size_t(k)] - fr * c[size_t(k)]);
        if (k == 0 || k == m) im = 0;
      } else if (k == 0) {
        im = 0;
      }
      to[2 * k] = re * scale, to[2 * k + 1] = im * scale;
      if (whole && k && k != n - k) to[2 * (n - k)] = re * scale, to[2 * (n - k) + 1] = -im * scale;
    });
  });
}

// The way back, from rows of n / 2 + 1 of which the first and (n even) the last count as real.
template <class T>
void to_real_lines(const T* in, T* out, int64_t rows, int64_t n, T scale) {
  const bool even = n % 2 == 0;
  const int64_t m = even ? n / 2 : n, half = n / 2 + 1;
  const auto plan = plan_of<T>(m);
  std::vector<T> c(size_t(half), 1), d(size_t(half), 0);
  for (int64_t k = 0; even && k < half; ++k) c[size_t(k)] = T(std::cos(2 * std::numbers::pi * double(k) / double(n))), d[size_t(k)] = T(std::sin(2 * std::numbers::pi * double(k) / double(n)));
  each_group<T>(rows, std::max(plan->room(), m), [&](Split<T> a, Split<T> b, int64_t first, int64_t lanes) {
    each_number(lanes, m, [&](int64_t i, int64_t k) {
      const T* from = in + 2 * (first + i) * half;
      auto imaginary = [&](int64_t k) { return k == 0 || 2 * k == n ? T(0) : from[2 * k + 1]; };
      const int64_t p = k * lanes + i;
      if (even) {
        const T er = from[2 * k] + from[2 * (m - k)], ei = imaginary(k) - imaginary(m - k), fr = from[2 * k] - from[2 * (m - k)], fi = imaginary(k) + imaginary(m - k);
        a.re[p] = er - (fr * d[size_t(k)] + fi * c[size_t(k)]);
        a.im[p] = ei + (fr * c[size_t(k)] - fi * d[size_t(k)]);
      } else {
        a.re[p] = from[2 * (k < half ? k : n - k)];
        a.im[p] = k < half ? imaginary(k) : -imaginary(n - k);
      }
    });
    const Split<T> r = plan->run(a.swapped(), b.swapped(), lanes).swapped();
    each_number(lanes, m, [&](int64_t i, int64_t k) {
      T* to = out + (first + i) * n;
      if (even) to[2 * k] = r.re[k * lanes + i] * scale, to[2 * k + 1] = r.im[k * lanes + i] * scale;
      else to[k] = r.re[k * lanes + i] * scale;
    });
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
    from_real_lines(from, static_cast<T*>(at->data()), rows, size, kind == Fourier::from_real_whole, count == 1 ? scale : T(1));
  }
  for (size_t i = halved ? 1 : 0; i < count; ++i) {
    const size_t d = n - 1 - i;
    const Tensor to = at == in ? empty(shape, pairs, Device{}) : at;
    const Lines l{to->numel() / shape[d], product_of(shape, d + 1, n)};
    complex_lines(static_cast<const T*>(at->data()), static_cast<T*>(to->data()), l, shape[d], forward, i + 1 == count && !to_real ? scale : T(1));
    at = to;
  }
  if (!to_real) return at;
  shape[n - 1] = last_size;
  const Tensor out = empty(shape, real, Device{});
  to_real_lines(static_cast<const T*>(at->data()), static_cast<T*>(out->data()), out->numel() / last_size, last_size, scale);
  return out;
}

}  // namespace

Tensor fourier(Fourier kind, const Tensor& self, const Dims& dims, const Dims& order, bool forward, double scale, int64_t last_size) {
  const DType t = self->dtype();
  const bool from_real = kind == Fourier::from_real || kind == Fourier::from_real_whole, narrow = t == DType::f32 || t == DType::c64;
  if (from_real ? t != DType::f32 && t != DType::f64 : t != DType::c64 && t != DType::c128) return {};
  const Tensor in = contiguous(permute(*self, order));
  Dims back(order.size(), 0);
  for (size_t i = 0; i < order.size(); ++i) back[size_t(order[i])] = int64_t(i);
  const Tensor out = narrow ? transformed<float>(kind, in, dims.size(), forward, float(scale), last_size) : transformed<double>(kind, in, dims.size(), forward, scale, last_size);
  return permute(*out, back);
}

}  // namespace shim
