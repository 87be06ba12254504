#include "cpu/random.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

#include "cpu/random_normals.h"
#include "ops/kernels.h"

namespace shim {
namespace {

constexpr int64_t kBatch = 1024;  // words drawn at once: they stay in the cache

inline uint64_t joined(const uint32_t* w) { return uint64_t(w[0]) << 32 | w[1]; }
inline double unit(uint64_t w) { return double(w & ((uint64_t{1} << 53) - 1)) * 0x1p-53; }
inline float unit(uint32_t w) { return float(int32_t(w & 0xffffff)) * 0x1p-24f; }

// f(i, w): number i from its words, `each` of them.
template <int each, class F> void from_words(int64_t n, Mersenne& source, F&& f) {
  uint32_t words[kBatch];
  for (int64_t at = 0; at < n; at += kBatch / each) {
    const int64_t many = std::min(kBatch / each, n - at);
    source.words(words, many * each);
    for (int64_t i = 0; i < many; ++i) f(at + i, words + each * i);
  }
}

template <class T> void uniforms(T* x, int64_t n, Mersenne& source) {
  if constexpr (sizeof(T) == 8)
    from_words<2>(n, source, [&](int64_t i, const uint32_t* w) { x[i] = unit(joined(w)); });
  else
    from_words<1>(n, source, [&](int64_t i, const uint32_t* w) { x[i] = unit(w[0]); });
}

template <class T> void normals_singly(T* x, int64_t n, double mean, double deviation, Mersenne& source) {
  for (int64_t i = 0; i < n; ++i) x[i] = T(std::fma(draw_normal(source), deviation, mean));
}

template <class T> void all_normals(T* x, int64_t n, T mean, T deviation, Mersenne& source) {
  uniforms(x, n, source);
  normals::from_uniform(x, n, mean, deviation);
  if (n % normals::kBlock == 0) return;
  x += n - normals::kBlock;  // the last block begins anew
  uniforms(x, normals::kBlock, source);
  normals::from_uniform(x, normals::kBlock, mean, deviation);
}

}  // namespace

std::mutex drawing;

double draw_uniform(Mersenne& source) { return unit(source.wide()); }

double draw_normal(Mersenne& source) {
  double z;
  if (source.take_spare(&z)) return z;
  const double turn = draw_uniform(source), u = draw_uniform(source);
  const double length = std::sqrt(-2.0 * std::log1p(-u)), angle = 2 * std::numbers::pi * turn;
  source.keep_spare(length * std::sin(angle));
  return length * std::cos(angle);
}

void fill_uniform(const Tensor& out, double low, double high, Mersenne& source) {
  drawn_into(out, [&]<class T>(T* x) {
    uniforms(x, out->numel(), source);
    if (low != 0 || high != 1) normals::between(x, out->numel(), T(low), T(T(high) - T(low)));
  });
}

void fill_normal(const Tensor& out, double mean, double deviation, Mersenne& source) {
  if (out->numel() < normals::kBlock) return fill_normal_singly(out, mean, deviation, source);
  drawn_into(out, [&]<class T>(T* x) { all_normals(x, out->numel(), T(mean), T(deviation), source); });
}

void fill_normal_singly(const Tensor& out, double mean, double deviation, Mersenne& source) {
  drawn_into(out, [&]<class T>(T* x) { normals_singly(x, out->numel(), mean, deviation, source); });
}

void fill_exponential(const Tensor& out, double rate, Mersenne& source) {
  const double scale = -1.0 / rate;
  drawn_into(out, [&]<class T>(T* x) {
    from_words<2>(
        out->numel(), source, [&](int64_t i, const uint32_t* w) { x[i] = T(scale * std::log1p(-unit(joined(w)))); });
  });
}

void fill_log_normal(const Tensor& out, double mean, double deviation, Mersenne& source) {
  drawn_into(out, [&]<class T>(T* x) {
    for (int64_t i = 0; i < out->numel(); ++i) x[i] = T(std::exp(std::fma(draw_normal(source), deviation, mean)));
  });
}

void fill_cauchy(const Tensor& out, double median, double sigma, Mersenne& source) {
  drawn_into(out, [&]<class T>(T* x) {
    for (int64_t i = 0; i < out->numel(); ++i)
      x[i] = T(std::fma(sigma, std::tan(std::numbers::pi * (draw_uniform(source) - 0.5)), median));
  });
}

void fill_integer(const Tensor& out, int64_t low, uint64_t span, Mersenne& source, bool short_words) {
  const std::lock_guard lock(drawing);
  auto* x = out->data_as<int64_t>();
  if (short_words || (span && span < uint64_t{1} << 28)) {
    const uint32_t narrow = uint32_t(span), inverse = ~uint32_t{0} / narrow;
    return from_words<1>(out->numel(), source, [&](int64_t i, const uint32_t* w) {
      uint32_t left = w[0] - uint32_t((uint64_t(w[0]) * inverse) >> 32) * narrow;  // the remainder, or two spans more
      left = left >= narrow ? left - narrow : left;
      left = left >= narrow ? left - narrow : left;
      x[i] = int64_t(left + uint64_t(low));
    });
  }
  from_words<2>(out->numel(), source, [&](int64_t i, const uint32_t* w) {
    const uint64_t all = joined(w);
    x[i] = int64_t(span ? all % span + uint64_t(low) : all);
  });
}

void fill_chance(const Tensor& out, double chance, Mersenne& source) {
  auto draw = [&]<class T>(T* x) {
    from_words<2>(out->numel(), source, [&](int64_t i, const uint32_t* w) { x[i] = T(unit(joined(w)) < chance); });
  };
  if (out->dtype() != DType::b8) return drawn_into(out, draw);
  const std::lock_guard lock(drawing);
  draw(out->data_as<uint8_t>());
}

Tensor chances(const Tensor& like, Mersenne& source) {
  const Tensor p = contiguous(like), out = empty(like->sizes(), like->dtype(), Device{});
  drawn_into(out, [&]<class T>(T* x) {
    const T* chance = p->data_as<T>();
    if constexpr (sizeof(T) == 8)
      from_words<2>(out->numel(), source, [&](int64_t i, const uint32_t* w) { x[i] = T(unit(joined(w)) < chance[i]); });
    else
      from_words<1>(out->numel(), source, [&](int64_t i, const uint32_t* w) { x[i] = T(unit(w[0]) < chance[i]); });
  });
  return out;
}

// Every place takes one of what is left.
Tensor permutation(int64_t n, Mersenne& source) {
  const std::lock_guard lock(drawing);
  const Tensor out = empty(Dims{n}, DType::i64, Device{});
  auto* order = out->data_as<int64_t>();
  for (int64_t i = 0; i < n; ++i) order[i] = i;
  if (n >= int64_t(~uint32_t{0} / 20)) {
    from_words<2>(n - 1, source,
        [&](int64_t i, const uint32_t* w) { std::swap(order[i], order[i + int64_t(joined(w) % uint64_t(n - i))]); });
  } else if (n > 1) {
    from_words<1>(n - 1, source,
        [&](int64_t i, const uint32_t* w) { std::swap(order[i], order[i + int64_t(w[0] % uint32_t(n - i))]); });
  }
  return out;
}

}  // namespace shim
