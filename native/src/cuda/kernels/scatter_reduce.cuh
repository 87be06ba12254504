#pragma once
// Reducing a source into indexed places, compiled by NVRTC with the macros of gather.cuh (ADDS among them) and one more:
//   JOIN how a place's value and another one become one (Sum, Product, Greatest, Least).
#include "cuda/kernels/gather.cuh"

template <class X>
using Computed = typename pick<is_narrow<X>, float, X>::type;  // of X, so that what truths lack is not looked for
struct Sum {
  template <class X> static __device__ X of(X, X b) { return b; }
};  // add_to does it
struct Product {
  template <class X> static __device__ X of(X a, X b) {
    if constexpr (same_type<X, Bool>::value)
      return Bool{u8(a.v & b.v)};
    else
      return cast<X>(Computed<X>(cast<Computed<X>>(a) * cast<Computed<X>>(b)));
  }
};
// NaN wins, whichever came first.
struct Greatest {
  template <class X> static __device__ X of(X a, X b) {
    if constexpr (same_type<X, Bool>::value)
      return Bool{u8(a.v | b.v)};
    else {
      const Computed<X> x = cast<Computed<X>>(a), y = cast<Computed<X>>(b);
      return x != x || x > y || x == y ? a : b;
    }
  }
};
struct Least {
  template <class X> static __device__ X of(X a, X b) {
    if constexpr (same_type<X, Bool>::value)
      return Bool{u8(a.v & b.v)};
    else {
      const Computed<X> x = cast<Computed<X>>(a), y = cast<Computed<X>>(b);
      return x != x || x < y || x == y ? a : b;
    }
  }
};

template <class W> union Bits {
  W word;
  T value;
  __device__ Bits() {}
};
// *p = JOIN::of(*p, v) as one step; a value that stays is not written.
template <class J> __device__ inline void join_at(T* p, T v) {
  if constexpr (sizeof(T) >= 4) {
    typedef typename pick<sizeof(T) == 8, u64, u32>::type W;
    W* at = reinterpret_cast<W*>(p);
    Bits<W> seen, next;
    W old;
    seen.word = *reinterpret_cast<volatile W*>(at);
    do {
      old = seen.word;
      next.value = J::of(seen.value, v);
      if (next.word == old) return;
      seen.word = atomicCAS(at, old, next.word);
    } while (seen.word != old);
  } else {
    typedef typename pick<sizeof(T) == 1, u8, u16>::type W;
    u32* word = reinterpret_cast<u32*>(reinterpret_cast<u64>(p) & ~3ull);
    const u32 shift = u32(reinterpret_cast<u64>(p) & 3) * 8, mask = (sizeof(T) == 1 ? 0xffu : 0xffffu) << shift;
    u32 seen = *reinterpret_cast<volatile u32*>(word), old;
    do {
      old = seen;
      Bits<W> now, next;
      now.word = W(old >> shift);
      next.value = J::of(now.value, v);
      if (next.word == now.word) return;
      seen = atomicCAS(word, old, (old & ~mask) | (u32(next.word) << shift));
    } while (seen != old);
  }
}

// out[place] = JOIN(out[place], from[p]) for every p, in no order; counts, if any, lie as out does.
extern "C" __global__ void __launch_bounds__(256)
    scatter_reduce(T* out, int* counts, const I* index, const T* from, i64 total, i64 dim_step, i64 size, Walk g) {
  EACH(i, total) {
    const At p = at(g, i);
    const i64 to = p.a + place(index[p.b], size, 0, AssertSite::scatter_reduce) * dim_step;
    if constexpr (same_type<JOIN, Sum>::value)
      add_to(out + to, from[p.c]);
    else
      join_at<JOIN>(out + to, from[p.c]);
    if (counts) atomicAdd(counts + to, 1);
  }
}
extern "C" __global__ void __launch_bounds__(256)
    count_at(int* counts, const I* index, i64 total, i64 dim_step, i64 size, Walk g) {
  EACH(i, total) {
    const At p = at(g, i);
    atomicAdd(counts + p.a + place(index[p.b], size, 0, AssertSite::scatter_reduce) * dim_step, 1);
  }
}
template <class X> __device__ inline X part_of(X x, int count) {
  typedef Computed<X> W;
  if constexpr (same_type<X, Bool>::value)
    return x;
  else if constexpr (is_float<W>)
    return cast<X>(W(cast<W>(x) / W(count)));
  else {
    const i64 q = i64(x) / count;
    return X(i64(x) % count < 0 ? q - 1 : q);
  }
}
// out = out / (counts + more), whole numbers rounded down; what nothing was counted for stays.
extern "C" __global__ void __launch_bounds__(256) divide_counts(T* out, const int* counts, i64 n, int more) {
  EACH(i, n) {
    const int count = counts[i] + more;
    if (count > 1) out[i] = part_of(out[i], count);
  }
}
