#pragma once
// Random numbers, compiled by NVRTC with macros:
//   ELEMENT the element type, WIDE 1 for numbers of 64 bits, V elements of one store of the dropout's tensors; RAISED: e to the power of
//   normal numbers; DRAW and POISSON for kernels of their own.
#include "cuda/kernels/packs.cuh"
#include "cuda/kernels/philox.cuh"

typedef ELEMENT T;
// out[i] = u * (high - low) + low, each step rounded, as the CPU's.
extern "C" __global__ void __launch_bounds__(256) uniform(T* out, i64 n, u64 seed, u64 start, double span, double low) {
  constexpr int each = WIDE ? 2 : 4;
  const i64 block = i64(blockIdx.x) * 256 + threadIdx.x, first = block * each;
  if (first >= n) return;
  const Words w = philox(seed, start + block);
  T values[each];
#pragma unroll
  for (int k = 0; k < each; ++k) {
    if constexpr (WIDE)
      values[k] = cast<T>(__dadd_rn(__dmul_rn(unit(w.v[2 * k], w.v[2 * k + 1]), span), low));
    else
      values[k] = cast<T>(__fadd_rn(__fmul_rn(unit(w.v[k]), float(span)), float(low)));
  }
  put(out, first, n, values);
}

#ifdef DRAW
// Numbers of other distributions from uniform ones u, each step rounded: 1 exponential of rate a, 2 Cauchy's about a of width b, 3 geometric
// with a = log(1 - chance), 4 whether u is below a. `least` of an exponential: u of zero is the next one.
extern "C" __global__ void __launch_bounds__(256) shaped(T* out, i64 n, u64 seed, u64 start, double a, double b) {
  typedef typename pick<WIDE, double, float>::type R;
  constexpr int each = WIDE ? 2 : 4;
  const i64 block = i64(blockIdx.x) * 256 + threadIdx.x, first = block * each;
  if (first >= n) return;
  const Words w = philox(seed, start + block);
  T values[each];
#pragma unroll
  for (int k = 0; k < each; ++k) {
    const R u = uniform_number<WIDE>(w, k);
    R x;
    if constexpr (DRAW == 1)
      x = fmax(-log(R(1) - u), R(WIDE ? 1.1102230246251565e-16 : 5.9604644775390625e-08));
    else if constexpr (DRAW == 2)
      x = R(a) + R(b) * tan(R(3.14159265358979323846) * (u - R(0.5)));
    else if constexpr (DRAW == 3)
      x = fmax(ceil(log(R(1) - u) / R(a)), R(1));
    else
      x = u < R(a) ? R(1) : R(0);
    if constexpr (DRAW == 1)
      if (a != 1) x /= R(a);  // a division takes longer than all else but the logarithm
    values[k] = cast<T>(x);
  }
  put(out, first, n, values);
}
#endif

#ifdef POISSON
// Counts of Poisson's distribution at the given rates. What a number needs of words are those of its own block, and of blocks beyond the stream's
// (their third counter is not zero). Small rates: how many uniform numbers' product stays above exp(-rate); others: Hoermann's transformed
// rejection (PTRS, 1993).
extern "C" __global__ void __launch_bounds__(256) poisson(const T* rates, T* out, i64 n, u64 seed, u64 start) {
  const i64 at = i64(blockIdx.x) * 256 + threadIdx.x;
  if (at >= n) return;
  const double rate = cast<double>(rates[at]);
  double count = 0;
  if (rate > 0 && rate < 10) {
    const float least = expf(-float(rate));
    float product = 1;
    for (u32 round = 0; product > least; ++round) {
      const Words w = philox(seed, start + at, round);
#pragma unroll
      for (int k = 0; k < 4; ++k) {
        if (product <= least) break;
        product *= float(w.v[k] >> 8) * 5.9604644775390625e-08f + 2.98023223876953125e-08f;
        count += product > least ? 1 : 0;
      }
    }
  } else if (rate >= 10) {
    const double root = sqrt(rate), b = 0.931 + 2.53 * root, a = -0.059 + 0.02483 * b,
                 inverse = 1.1239 + 1.1328 / (b - 3.4), bound = 0.9277 - 3.6224 / (b - 2);
    const double level = log(rate);
    bool found = false;
    for (u32 round = 0; !found && round < 1000; ++round) {  // a round fails once in five times at most
      const Words w = philox(seed, start + at, round);
#pragma unroll
      for (int k = 0; k < 2; ++k) {
        if (found) break;
        const double u = (double(w.v[2 * k]) + 0.5) * 2.3283064365386963e-10 - 0.5,
                     v = (double(w.v[2 * k + 1]) + 0.5) * 2.3283064365386963e-10;
        const double us = 0.5 - fabs(u);
        count = floor((2 * a / us + b) * u + rate + 0.43);
        if (us >= 0.07 && v <= bound)
          found = true;
        else if (count >= 0 && !(us < 0.013 && v > us))
          found = log(v * inverse / (a / (us * us) + b)) <= count * level - rate - lgamma(count + 1);
      }
    }
  }
  out[at] = cast<T>(count);
}
#endif

// out[i] = low + whole % span; span 0 stands for 2**64. `inverse` is (2**64 - 1) / span.
extern "C" __global__ void __launch_bounds__(256)
    integer(T* out, i64 n, u64 seed, u64 start, u64 span, u64 inverse, i64 low) {
  const i64 block = i64(blockIdx.x) * 256 + threadIdx.x, first = block * 2;
  if (first >= n) return;
  const Words w = philox(seed, start + block);
  T values[2];
#pragma unroll
  for (int k = 0; k < 2; ++k) {
    u64 whole = u64(w.v[2 * k]) << 32 | w.v[2 * k + 1];
    if (span) {
      whole -= __umul64hi(whole, inverse) * span;
      while (whole >= span) whole -= span;
    }
    values[k] = cast<T>(i64(whole + u64(low)));
  }
  put(out, first, n, values);
}

// The same of 0 < span < 2**28 from words of 32 bits; `inverse` is (2**32 - 1) / span.
extern "C" __global__ void __launch_bounds__(256)
    short_integer(T* out, i64 n, u64 seed, u64 start, u32 span, u32 inverse, i64 low) {
  const i64 block = i64(blockIdx.x) * 256 + threadIdx.x, first = block * 4;
  if (first >= n) return;
  const Words w = philox(seed, start + block);
  u32 whole[4];
#pragma unroll
  for (int k = 0; k < 4; ++k) {  // the quotient is too small by at most two
    u32 left = w.v[k] - __umulhi(w.v[k], inverse) * span;
    left = left >= span ? left - span : left;
    whole[k] = left >= span ? left - span : left;
  }
  T values[4];
  if constexpr (sizeof(T) == 8) {  // two stores of a warp's neighbours instead of one of 32 bytes a thread
    const i64 begin = first - 4 * i64(threadIdx.x % 32);
    if (begin + 128 <= n && reinterpret_cast<u64>(out) % 16 == 0) {
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const int lane = threadIdx.x % 32, from = half * 16 + lane / 2;
        u32 given[4];
#pragma unroll
        for (int k = 0; k < 4; ++k) given[k] = __shfl_sync(0xffffffffu, whole[k], from);
        Pack<T, 2> pack;
#pragma unroll
        for (int k = 0; k < 2; ++k) pack.v[k] = cast<T>(i64(u64(lane % 2 ? given[2 + k] : given[k]) + u64(low)));
        *reinterpret_cast<Pack<T, 2>*>(out + begin + half * 64 + 2 * lane) = pack;
      }
      return;
    }
  }
#pragma unroll
  for (int k = 0; k < 4; ++k) values[k] = cast<T>(i64(u64(whole[k]) + u64(low)));
  put(out, first, n, values);
}

template <class R> struct Pair {
  R c, s;
};
__device__ inline Pair<double> box_muller(u32 a, u32 b, double) {
  const double u = (double(a >> 8) + 1.0) * 5.9604644775390625e-08, angle = double(b >> 8) * 5.9604644775390625e-08,
               radius = sqrt(-2.0 * log(u));
  double s, c;
  sincospi(2.0 * angle, &s, &c);
  return {radius * c, radius * s};
}
__device__ inline Pair<float> box_muller(u32 a, u32 b, float) {
  const float u = (float(a >> 8) + 1.0f) * 5.9604644775390625e-08f, angle = float(b >> 8) * 5.9604644775390625e-08f,
              radius = sqrtf(-2.0f * logf(u));
  float s, c;
  sincospif(2.0f * angle, &s, &c);
  return {radius * c, radius * s};
}
template <class R> __device__ inline T normal_number(R z, R mean, R std) {
  const T drawn = cast<T>(R(z * std + mean));
#ifdef RAISED
  return cast<T>(exp(cast<R>(drawn)));
#endif
  return drawn;
}
// The first half of the numbers are cosines, the second half sines; word i and word i + half give one of each.
extern "C" __global__ void __launch_bounds__(256) normal(T* out, i64 n, u64 seed, u64 start, double mean, double std) {
  typedef typename pick<WIDE, double, float>::type R;
  const i64 half = (n + 1) / 2, block = i64(blockIdx.x) * 256 + threadIdx.x, first = block * 4;
  if (first >= half) return;
  const Words a = philox(seed, start + block);
  const u64 other = u64(half + first);
  Words b = philox(seed, start + other / 4), c = b;
  const int shift = int(other % 4);
  if (shift) c = philox(seed, start + other / 4 + 1);
  T cosines[4], sines[4];
#pragma unroll
  for (int k = 0; k < 4; ++k) {
    const int place = k + shift;
    u32 word = 0;
#pragma unroll
    for (int j = 0; j < 8; ++j)
      if (j == place) word = j < 4 ? b.v[j] : c.v[j - 4];
    const Pair<R> z = box_muller(a.v[k], word, R(0));
    cosines[k] = normal_number(z.c, R(mean), R(std));
    sines[k] = normal_number(z.s, R(mean), R(std));
  }
  put(out, first, half, cosines);
  put(out + half, first, n - half, sines);
}

// mask = uniform >= p, out = in * scale where kept; `least` is p * 2**24, rounded up. V elements a thread, 4 or 8, of as many words.
extern "C" __global__ void __launch_bounds__(256)
    dropout(const T* in, T* out, u8* mask, i64 n, u64 seed, u64 start, u32 least, double scale) {
  typedef typename pick<WIDE, double, float>::type R;
  const i64 first = (i64(blockIdx.x) * 256 + threadIdx.x) * V;
  if (first >= n) return;
  Pack<T, V> x;
  Pack<u8, V> keep;
  const bool whole = first + V <= n;
  if (whole)
    x = *reinterpret_cast<const Pack<T, V>*>(in + first);
  else
    for (int k = 0; k < V && first + k < n; ++k) x.v[k] = in[first + k];
#pragma unroll
  for (int q = 0; q < V / 4; ++q) {
    const Words w = philox(seed, start + first / 4 + q);
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      const int e = 4 * q + k;
      keep.v[e] = w.v[k] >> 8 >= least;
      x.v[e] = cast<T>(keep.v[e] ? R(cast<R>(x.v[e]) * R(scale)) : R(0));
    }
  }
  if (whole) {
    *reinterpret_cast<Pack<T, V>*>(out + first) = x;
    *reinterpret_cast<Pack<u8, V>*>(mask + first) = keep;
  } else {
    for (int k = 0; k < V && first + k < n; ++k) out[first + k] = x.v[k], mask[first + k] = keep.v[k];
  }
}
