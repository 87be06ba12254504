// The words of random numbers on the CPU; shim_torch/_generator.py has the same in NumPy's and CuPy's terms.
#include "cpu/philox.h"
#include <algorithm>
#include <cmath>
#include "cpu/parallel.h"
#include "cpu/vector_math.h"

namespace shim {
namespace {

constexpr uint32_t kMultiplier0 = 0xD2511F53, kMultiplier1 = 0xCD9E8D57, kWeyl0 = 0x9E3779B9, kWeyl1 = 0xBB67AE85;
constexpr int64_t kBlocksAThread = 8192;

void block(uint64_t seed, uint64_t counter, uint32_t* out) {
  uint32_t c0 = uint32_t(counter), c1 = uint32_t(counter >> 32), c2 = 0, c3 = 0;
  uint32_t k0 = uint32_t(seed), k1 = uint32_t(seed >> 32);
  for (int round = 0; round < 10; ++round) {
    uint64_t p0 = uint64_t(kMultiplier0) * c0, p1 = uint64_t(kMultiplier1) * c2;
    c0 = uint32_t(p1 >> 32) ^ c1 ^ k0;
    c1 = uint32_t(p1);
    c2 = uint32_t(p0 >> 32) ^ c3 ^ k1;
    c3 = uint32_t(p0);
    k0 += kWeyl0;
    k1 += kWeyl1;
  }
  out[0] = c0, out[1] = c1, out[2] = c2, out[3] = c3;
}

constexpr int kBatch = 512;  // blocks that are turned into numbers at once: their words stay in the cache

// Words [first, first + n) of the stream from block `start` on, n <= 4 * kBatch; `words` has room for two blocks more.
// Returns where the first one is.
const uint32_t* words_at(uint64_t seed, uint64_t start, int64_t first, int64_t n, uint32_t* words) {
  int64_t skipped = first % 4, blocks = (skipped + n + 3) / 4;
  uint64_t counter = start + uint64_t(first / 4);
  for (int64_t i = 0; i < blocks; ++i) block(seed, counter + uint64_t(i), words + 4 * i);
  return words + skipped;
}

// Calls f(first, n) over batches of the range that a thread has; every batch but the last has `batch` numbers.
template <class F> void in_batches(int64_t n, int64_t batch, F f) {
  parallel_for((n + batch - 1) / batch, kBlocksAThread / kBatch, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) f(i * batch, std::min(batch, n - i * batch));
  });
}

inline uint64_t joined(const uint32_t* w) { return uint64_t(w[0]) << 32 | w[1]; }
inline double unit(const uint32_t* w) { return double(((uint64_t(w[0]) << 21) ^ (w[1] >> 11)) & ((uint64_t{1} << 53) - 1)) * 0x1p-53; }
inline float unit(uint32_t w) { return float(int32_t(w >> 8)) * 0x1p-24f; }

inline float radius(float u) { return std::sqrt(-2.f * log_of(u)); }
inline double radius(double u) { return std::sqrt(-2.0 * std::log(u)); }
inline float turned(float u, int32_t turn) { return sine_of_turns(u, turn); }
inline double turned(double u, int32_t turn) {
  double angle = 2 * 3.14159265358979323846 * u;
  return turn ? std::cos(angle) : std::sin(angle);
}

}  // namespace

template <class T> void draw_uniform(T* out, int64_t n, uint64_t seed, uint64_t start, T span, T low) {
  constexpr int wide = sizeof(T) / 4;
  in_batches(n, 4 * kBatch / wide, [&](int64_t first, int64_t many) {
    uint32_t buffer[4 * kBatch + 8];
    const uint32_t* w = words_at(seed, start, first * wide, many * wide, buffer);
    for (int64_t i = 0; i < many; ++i) {
      if constexpr (wide == 2) out[first + i] = unit(w + 2 * i) * span + low;
      else out[first + i] = unit(w[i]) * span + low;
    }
  });
}
template void draw_uniform(float*, int64_t, uint64_t, uint64_t, float, float);
template void draw_uniform(double*, int64_t, uint64_t, uint64_t, double, double);

namespace {

// Of ranges below 2**28, as on CUDA: a word of 32 bits a number.
void draw_short(int64_t* out, int64_t n, uint64_t seed, uint64_t start, uint32_t span, int64_t low) {
  const uint32_t inverse = ~uint32_t{0} / span;
  in_batches(n, 4 * kBatch, [&](int64_t first, int64_t many) {
    uint32_t buffer[4 * kBatch + 8];
    const uint32_t* w = words_at(seed, start, first, many, buffer);
    for (int64_t i = 0; i < many; ++i) {
      uint32_t left = w[i] - uint32_t((uint64_t(w[i]) * inverse) >> 32) * span;             // the remainder, or two spans more
      left = left >= span ? left - span : left;
      left = left >= span ? left - span : left;
      out[first + i] = int64_t(left + uint64_t(low));
    }
  });
}

}  // namespace

void draw_integer(int64_t* out, int64_t n, uint64_t seed, uint64_t start, uint64_t span, int64_t low) {
  if (span && span < uint64_t{1} << 28) return draw_short(out, n, seed, start, uint32_t(span), low);
  const uint64_t inverse = span ? ~uint64_t{0} / span : 0;
  in_batches(n, 2 * kBatch, [&](int64_t first, int64_t many) {
    uint32_t buffer[4 * kBatch + 8];
    const uint32_t* w = words_at(seed, start, first * 2, many * 2, buffer);
    for (int64_t i = 0; i < many; ++i) {
      uint64_t whole = joined(w + 2 * i);
      whole -= uint64_t((static_cast<unsigned __int128>(whole) * inverse) >> 64) * span;  // the remainder, or two spans more
      if (span)
        while (whole >= span) whole -= span;
      out[first + i] = int64_t(whole + uint64_t(low));
    }
  });
}

// The first half are cosines, the second sines; word i and word i + half give one of each.
template <class T> void draw_normal(T* out, int64_t n, uint64_t seed, uint64_t start, T mean, T deviation) {
  int64_t half = (n + 1) / 2;
  in_batches(half, 2 * kBatch, [&](int64_t first, int64_t many) {
    uint32_t near[4 * kBatch + 8], far[4 * kBatch + 8];
    const uint32_t *a = words_at(seed, start, first, many, near), *b = words_at(seed, start, half + first, many, far);
    T* sines = out + half + first;
    int64_t pairs = std::min(many, n - half - first);
    for (int64_t i = 0; i < many; ++i) {
      T length = radius((T(int32_t(a[i] >> 8)) + T(1)) * T(0x1p-24)), turn = T(int32_t(b[i] >> 8)) * T(0x1p-24);
      T cosine = length * turned(turn, 1), sine = length * turned(turn, 0);
      out[first + i] = cosine * deviation + mean;
      if (i < pairs) sines[i] = sine * deviation + mean;
    }
  });
}
template void draw_normal(float*, int64_t, uint64_t, uint64_t, float, float);
template void draw_normal(double*, int64_t, uint64_t, uint64_t, double, double);

void philox_words(uint64_t seed, uint64_t offset, int64_t blocks, uint32_t* out) {
  parallel_for(blocks, kBlocksAThread, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) block(seed, offset + uint64_t(i), out + 4 * i);
  });
}

}  // namespace shim
