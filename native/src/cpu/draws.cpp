#include "cpu/draws.h"

#include <algorithm>
#include <utility>

#include "cpu/parallel.h"
#include "cpu/philox.h"
#include "cpu/vector_math.h"
#include "ops/kernels.h"

namespace shim {
namespace {

constexpr uint64_t kNormals = uint64_t{1} << 40;         // normal numbers have a part of the stream of their own

template <class F>
void of_floats(const Tensor& t, F&& f) {
  if (t->dtype() == DType::f64) f(t->data_as<double>());
  else f(t->data_as<float>());
}

template <class T, class F>
void each(T* x, int64_t n, F&& f) {
  parallel_for(n, kGrain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) x[i] = f(x[i], i);
  });
}

float logarithm(float x) { return log_of(x); }
double logarithm(double x) { return std::log(x); }

}  // namespace

void fill_uniform(const Tensor& out, double low, double high, Stream s) {
  of_floats(out, [&]<class T>(T* x) { draw_uniform(x, out->numel(), s.seed, s.start, T(high - low), T(low)); });
}
void fill_normal(const Tensor& out, double mean, double deviation, Stream s) {
  of_floats(out, [&]<class T>(T* x) { draw_normal(x, out->numel(), s.seed, s.start + kNormals, T(mean), T(deviation)); });
}
void fill_exponential(const Tensor& out, double rate, Stream s) {
  fill_uniform(out, 0, 1, s);
  of_floats(out, [&]<class T>(T* x) { each(x, out->numel(), [&](T u, int64_t) { return -logarithm(T(1) - u) / T(rate); }); });
}
void fill_integer(const Tensor& out, int64_t low, uint64_t span, Stream s) { draw_integer(out->data_as<int64_t>(), out->numel(), s.seed, s.start, span, low); }

void fill_chance(const Tensor& out, double chance, Stream s) {
  fill_uniform(out, 0, 1, s);
  of_floats(out, [&]<class T>(T* x) { each(x, out->numel(), [&](T u, int64_t) { return T(u < T(chance)); }); });
}
Tensor chances(const Tensor& like, Stream s) {
  const Tensor p = contiguous(like), out = empty(like->sizes(), like->dtype(), Device{});
  fill_uniform(out, 0, 1, s);
  of_floats(out, [&]<class T>(T* x) { each(x, out->numel(), [&](T u, int64_t i) { return T(u < p->data_as<T>()[i]); }); });
  return out;
}

// Every place takes one of what is left.
Tensor permutation(int64_t n, Stream s) {
  const Tensor numbers = empty(Dims{n}, DType::i64, Device{}), out = empty(Dims{n}, DType::i64, Device{});
  const auto* drawn = numbers->data_as<int64_t>();
  draw_integer(numbers->data_as<int64_t>(), n, s.seed, s.start, 0, 0);
  auto* order = out->data_as<int64_t>();
  for (int64_t i = 0; i < n; ++i) order[i] = i;
  for (int64_t i = 0; i + 1 < n; ++i) {
    const auto left = uint64_t(n - i), high = uint64_t(drawn[i]) >> 32, low = uint64_t(drawn[i]) & 0xffffffff;
    const uint64_t taken = left >> 32 ? uint64_t(drawn[i]) % left : (high * left + (low * left >> 32)) >> 32;     // drawn * left / 2^64
    std::swap(order[i], order[i + int64_t(taken)]);
  }
  return out;
}

}  // namespace shim
