#include "cpu/draws.h"

#include <algorithm>
#include <bit>
#include <vector>

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

// The numbers are spread evenly, so their leading bits put each near its place, and few steps are left.
Tensor permutation(int64_t n, Stream s) {
  constexpr int kBits = 62;
  struct Item { uint64_t key; int64_t at; };
  const Tensor out = empty(Dims{n}, DType::i64, Device{});
  auto* keys = out->data_as<int64_t>();
  draw_integer(keys, n, s.seed, s.start, uint64_t{1} << kBits, 0);
  const int shift = kBits - std::min(20, std::max(1, int(std::bit_width(uint64_t(n))) + 1));
  std::vector<uint32_t> starts((size_t{1} << (kBits - shift)) + 1);
  for (int64_t i = 0; i < n; ++i) ++starts[size_t(keys[i] >> shift) + 1];
  for (size_t b = 1; b < starts.size(); ++b) starts[b] += starts[b - 1];
  std::vector<Item> items(static_cast<size_t>(n));
  for (int64_t i = 0; i < n; ++i) items[size_t(starts[size_t(keys[i] >> shift)]++)] = {uint64_t(keys[i]), i};
  for (size_t i = 1; i < items.size(); ++i) {            // equal ones stand in their order already
    const Item item = items[i];
    size_t to = i;
    for (; to > 0 && items[to - 1].key > item.key; --to) items[to] = items[to - 1];
    items[to] = item;
  }
  for (int64_t i = 0; i < n; ++i) keys[i] = items[size_t(i)].at;
  return out;
}

}  // namespace shim
