#pragma once
// Collectives of small tensors by one kernel in each rank: it writes its words into the other ranks' memory, waits for theirs in its own,
// and gathers or reduces what came. A line of 16 bytes carries a word of 8 and, beside each half of it, the number of the collective:
// whoever reads the number has the data, so nothing else is waited for. Compiled by NVRTC with a macro:
//   ELEMENT the type of the numbers that are reduced.
#include "cuda/kernels/ranks.cuh"

struct Ranks {
  u64 to[8];        // the slot that this rank fills, in each rank's memory
  u64 from;         // the slots of this rank's own memory, one for each rank
  i64 slot;         // bytes from one to the next
  const u32* stop;  // in the host's memory: 1 ends what waits
  int rank, size;
};

__device__ inline void put(u64 line, u64 word, u32 number) {
  const u32 low = u32(word), high = u32(word >> 32);
#ifdef __CUDA_ARCH__
  asm volatile("st.volatile.global.v4.u32 [%0], {%1, %2, %3, %2};" ::"l"(line), "r"(low), "r"(number), "r"(high)
      : "memory");
#else
  u64* at = reinterpret_cast<u64*>(line);
  __atomic_store_n(at, low | u64(number) << 32, __ATOMIC_RELEASE);
  __atomic_store_n(at + 1, high | u64(number) << 32, __ATOMIC_RELEASE);
#endif
}

// Waits for the line of this collective; false where it was stopped.
__device__ inline bool get(u64 line, u64& word, u32 number, const u32* stop) {
  for (u32 tries = 1;; ++tries) {
    u32 low, first, high, second;
#ifdef __CUDA_ARCH__
    asm volatile("ld.volatile.global.v4.u32 {%0, %1, %2, %3}, [%4];"
        : "=r"(low), "=r"(first), "=r"(high), "=r"(second)
        : "l"(line)
        : "memory");
#else
    u64* at = reinterpret_cast<u64*>(line);
    const u64 a = __atomic_load_n(at, __ATOMIC_ACQUIRE), b = __atomic_load_n(at + 1, __ATOMIC_ACQUIRE);
    low = u32(a), first = u32(a >> 32), high = u32(b), second = u32(b >> 32);
    if (first != number || second != number) __nanosleep(0);  // lets the others run
#endif
    if (first == number && second == number) {
      word = low | u64(high) << 32;
      return true;
    }
    if (tries % 4096 == 0) {
      if (*static_cast<const volatile u32*>(stop)) return false;
      __nanosleep(100);
    }
  }
}

// Of 8 bytes, of which `left` are there.
__device__ inline u64 load(const u8* p, i64 left) {
  if (left >= 8 && reinterpret_cast<u64>(p) % 8 == 0) return *reinterpret_cast<const u64*>(p);
  u64 word = 0;
  for (int k = 0; k < 8; ++k)
    if (k < left) word |= u64(p[k]) << 8 * k;
  return word;
}
__device__ inline void store(u8* p, u64 word, i64 left) {
  if (left >= 8 && reinterpret_cast<u64>(p) % 8 == 0) {
    *reinterpret_cast<u64*>(p) = word;
    return;
  }
  for (int k = 0; k < 8; ++k)
    if (k < left) p[k] = u8(word >> 8 * k);
}

// f(i) for this thread's words.
template <class F> __device__ inline void each_word(i64 bytes, F f) {
  const i64 step = i64(gridDim.x) * blockDim.x;
  for (i64 i = i64(blockIdx.x) * blockDim.x + threadIdx.x; i * 8 < bytes; i += step) f(i);
}

// To each other rank its part of `in`, which begins `step` bytes after the one before; 0: all get the same.
__device__ inline void send(const u8* in, i64 bytes, i64 step, const Ranks& g, u32 number) {
  each_word(bytes, [&](i64 i) {
    for (int r = 0; r < g.size; ++r)
      if (r != g.rank) put(g.to[r] + i * 16, load(in + r * step + i * 8, bytes - i * 8), number);
  });
}

// Word i of a rank's part: where it is this one's it lies at `own`, of which `left` bytes are there, else it arrives. False where that
// was stopped.
__device__ inline bool take(const u8* own, i64 left, i64 i, int r, const Ranks& g, u32 number, u64& word) {
  if (r == g.rank) {
    word = load(own, left);
    return true;
  }
  return get(g.from + r * g.slot + i * 16, word, number, g.stop);
}

// What is for and of each rank: addresses and bytes.
struct Exchange {
  u64 in[8], out[8];
  i64 given[8], made[8];
};

// Every rank sends each other one a line at least: so that all know that the slots of the collective before were read.
extern "C" __global__ void __launch_bounds__(512)
    swapped(const __grid_constant__ Exchange e, const __grid_constant__ Ranks g, u32 number) {
  for (int r = 0; r < g.size; ++r) {
    const u8* in = reinterpret_cast<const u8*>(e.in[r]);
    const i64 bytes = e.given[r];
    if (r != g.rank)
      each_word(bytes ? bytes : 1, [&](i64 i) { put(g.to[r] + i * 16, load(in + i * 8, bytes - i * 8), number); });
  }
  bool stopped = false;
  for (int r = 0; r < g.size; ++r) {
    const u8* in = reinterpret_cast<const u8*>(e.in[r]);
    u8* out = reinterpret_cast<u8*>(e.out[r]);
    const i64 bytes = e.made[r];
    each_word(bytes || r == g.rank ? bytes : 1, [&](i64 i) {
      u64 word;
      stopped = stopped || !take(in + i * 8, bytes - i * 8, i, r, g, number, word);
      if (!stopped) store(out + i * 8, word, bytes - i * 8);
    });
  }
}

// out: a part of `bytes` from each rank.
extern "C" __global__ void __launch_bounds__(512)
    gathered(const u8* in, u8* out, i64 bytes, i64 step, const __grid_constant__ Ranks g, u32 number) {
  send(in, bytes, step, g, number);
  bool stopped = false;
  each_word(bytes, [&](i64 i) {
    for (int r = 0; r < g.size && !stopped; ++r) {
      u64 word;
      stopped = !take(in + r * step + i * 8, bytes - i * 8, i, r, g, number, word);
      if (!stopped) store(out + r * bytes + i * 8, word, bytes - i * 8);
    }
  });
}

// out: the reduction of the parts that are for this rank, in the order of the ranks.
extern "C" __global__ void __launch_bounds__(512) reduced(
    const u8* in, u8* out, i64 bytes, i64 step, const __grid_constant__ Ranks g, u32 number, int join, double factor) {
  typedef ELEMENT T;
  constexpr int kNumbers = 8 / sizeof(T);
  typedef typename Wide<T>::type C;
  struct Word {
    T v[kNumbers];
  };
  send(in, bytes, step, g, number);
  bool stopped = false;
  each_word(bytes, [&](i64 i) {
    C sums[kNumbers];
    for (int r = 0; r < g.size && !stopped; ++r) {
      u64 word;
      stopped = !take(in + r * step + i * 8, bytes - i * 8, i, r, g, number, word);
      if (stopped) return;
      const Word w = *reinterpret_cast<const Word*>(&word);
#pragma unroll
      for (int k = 0; k < kNumbers; ++k) {
        const C x = cast<C>(join == kScaledSum ? scaled(w.v[k], factor) : w.v[k]);
        sums[k] = r ? joined(sums[k], x, join) : x;
      }
    }
    u64 word;
    Word* w = reinterpret_cast<Word*>(&word);
#pragma unroll
    for (int k = 0; k < kNumbers; ++k) w->v[k] = cast<T>(sums[k]);
    store(out + i * 8, word, bytes - i * 8);
  });
}
