#pragma once
// Joining, gathering and scattering, compiled by NVRTC with macros:
//   ELEMENT the element type (for what only moves, an unsigned word of the size moved), INDEX the index type, WIDE 1 for more than 2**31 elements.
#include "cuda/kernels/asserts.cuh"

typedef ELEMENT T;
typedef INDEX I;
typedef typename pick<WIDE, u64, u32>::type Number;
#define EACH(i, n) for (Number i = Number(blockIdx.x) * 256 + threadIdx.x; i < Number(n); i += Number(gridDim.x) * 256)

__device__ inline i64 place(I index, i64 size, int wraps, AssertSite site) {
  i64 j = i64(index);
  if (wraps && j < 0) j += size;
  if (u64(j) >= u64(size)) assert_failed(site, i64(index), size);
  return j;
}

// out[o, k, w] = from[o, index[k], w]; w over `inner` neighbouring elements.
extern "C" __global__ void __launch_bounds__(256) take(const T* from, T* out, const I* index, i64 count, i64 inner,
    i64 total, i64 outer_step, i64 dim_step, i64 size, int wraps) {
  EACH(i, total) {
    const Number row = i / Number(inner), w = i - row * Number(inner), o = row / Number(count),
                 k = row - o * Number(count);
    out[i] = from[i64(o) * outer_step +
                  place(index[k], size, wraps, wraps ? AssertSite::index : AssertSite::index_select) * dim_step + w];
  }
}

// out[index[k], w] = values[k, w]
extern "C" __global__ void __launch_bounds__(256)
    put(T* out, const T* values, const I* index, i64 inner, i64 total, i64 value_step, i64 size, int wraps) {
  EACH(i, total) {
    const Number k = i / Number(inner), w = i - k * Number(inner);
    out[place(index[k], size, wraps, AssertSite::index_put) * inner + w] =
        values[i64(k) * value_step + (value_step ? w : 0)];
  }
}

// keys[i] = the row that the indices of i name among rows of these sizes
struct Indices {
  const i64* at[6];
  i64 size[6];
  int count;
};
extern "C" __global__ void __launch_bounds__(256) flatten(i64* keys, i64 n, Indices g) {
  EACH(i, n) {
    i64 key = 0;
#pragma unroll
    for (int k = 0; k < 6; ++k) {
      if (k == g.count) break;
      key = key * g.size[k] + place(g.at[k][i], g.size[k], 1, AssertSite::index);
    }
    keys[i] = key;
  }
}

// Parts one after another along a dimension: out[o, start + w] = part[o, w].
struct Parts {
  const T* from[32];
  i64 start[32];
  i64 width[32];
};
struct ManyParts {
  const T* from[128];
  i64 start[128];
  i64 width[128];
};
template <class P> __device__ inline void join_parts(T* out, i64 outer, i64 row, const P& parts) {
  const i64 width = parts.width[blockIdx.y], start = parts.start[blockIdx.y];
  const T* from = parts.from[blockIdx.y];
  EACH(i, outer * width) {
    const Number o = i / Number(width), w = i - o * Number(width);
    out[i64(o) * row + start + w] = from[i];
  }
}
extern "C" __global__ void __launch_bounds__(256) join(T* out, i64 outer, i64 row, Parts parts) {
  join_parts(out, outer, row, parts);
}
extern "C" __global__ void __launch_bounds__(256) join_many(T* out, i64 outer, i64 row, ManyParts parts) {
  join_parts(out, outer, row, parts);
}
// The same of parts that lie in memory as lines of neighbours, each `pitch` after the one before.
struct Lines {
  const T* from[32];
  i64 start[32];
  i64 width[32];
  i64 line[32];
  i64 pitch[32];
};
extern "C" __global__ void __launch_bounds__(256) join_lines(T* out, i64 outer, i64 row, Lines lines) {
  const i64 width = lines.width[blockIdx.y], start = lines.start[blockIdx.y];
  const i64 line = lines.line[blockIdx.y], pitch = lines.pitch[blockIdx.y];
  const T* from = lines.from[blockIdx.y];
  EACH(i, outer * width) {
    const Number o = i / Number(width), w = i - o * Number(width), l = i / Number(line), c = i - l * Number(line);
    out[i64(o) * row + start + w] = from[i64(l) * pitch + c];
  }
}

// Innermost first; steps in elements of three tensors.
struct Walk {
  i64 size[6];
  i64 step[3][6];
  int dims;
};
struct At {
  i64 a, b, c;
};
__device__ inline At at(const Walk& g, Number position) {
  At r = {0, 0, 0};
#pragma unroll
  for (int d = 0; d < 6; ++d) {
    if (d == g.dims) break;
    Number digit = position;
    if (d + 1 < g.dims) {
      const Number q = position / Number(g.size[d]);
      digit = position - q * Number(g.size[d]);
      position = q;
    }
    r.a += i64(digit) * g.step[0][d];
    r.b += i64(digit) * g.step[1][d];
    r.c += i64(digit) * g.step[2][d];
  }
  return r;
}

// out[p] = from[p with the dimension's place index[p]]
extern "C" __global__ void __launch_bounds__(256)
    gather(const T* from, const I* index, T* out, i64 total, i64 dim_step, i64 size, Walk g) {
  EACH(i, total) {
    const At p = at(g, i);
    out[i] = from[p.a + place(index[p.b], size, 0, AssertSite::gather) * dim_step];
  }
}

// out[p with the dimension's place index[p]] = from[p]
extern "C" __global__ void __launch_bounds__(256)
    scatter(T* out, const I* index, const T* from, i64 total, i64 dim_step, i64 size, Walk g, int wraps) {
  EACH(i, total) {
    const At p = at(g, i);
    out[p.a + place(index[p.b], size, wraps, wraps ? AssertSite::index_fill : AssertSite::scatter) * dim_step] =
        from[p.c];
  }
}
// out[p with the dimension's place index[p]] = value
extern "C" __global__ void __launch_bounds__(256)
    fill_at(T* out, const I* index, T value, i64 total, i64 dim_step, i64 size, int wraps, Walk g) {
  EACH(i, total) {
    const At p = at(g, i);
    out[p.a + place(index[p.b], size, wraps, AssertSite::index_fill) * dim_step] = value;
  }
}
#ifdef ADDS
template <class X> __device__ inline void add_word(X* p, X v) {  // elements of less than 4 bytes, by their word
  u32* word = reinterpret_cast<u32*>(reinterpret_cast<u64>(p) & ~3ull);
  const u32 shift = u32(reinterpret_cast<u64>(p) & 3) * 8, mask = (sizeof(X) == 1 ? 0xffu : 0xffffu) << shift;
  u32 seen = *word, old;
  do {
    old = seen;
    X now, sum;
    u16 bits = u16(old >> shift);
    if constexpr (sizeof(X) == 1) {
      u8 b = u8(bits);
      now = *reinterpret_cast<X*>(&b);
    } else
      now = *reinterpret_cast<X*>(&bits);
    if constexpr (is_narrow<X>)
      sum = cast<X>(widen(now) + widen(v));
    else if constexpr (same_type<X, Bool>::value)
      sum = Bool{u8(now.v | v.v)};
    else
      sum = X(now + v);
    u32 raw;
    if constexpr (sizeof(X) == 1)
      raw = *reinterpret_cast<u8*>(&sum);
    else
      raw = *reinterpret_cast<u16*>(&sum);
    seen = atomicCAS(word, old, (old & ~mask) | (raw << shift));
  } while (seen != old);
}
template <class X> __device__ inline void add_to(X* p, X v) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  if constexpr (same_type<X, Half>::value) {
    asm volatile("red.global.add.noftz.f16 [%0], %1;" ::"l"(p), "h"(v.v) : "memory");
    return;
  }
  if constexpr (same_type<X, Bf16>::value) {
    asm volatile("red.global.add.noftz.bf16 [%0], %1;" ::"l"(p), "h"(v.v) : "memory");
    return;
  }
#endif
  if constexpr (same_type<X, i64>::value)
    atomicAdd(reinterpret_cast<u64*>(p), u64(v));
  else if constexpr (sizeof(X) >= 4)
    atomicAdd(p, v);
  else
    add_word(p, v);
}
// out[...] += from[p]; in no order, as PyTorch's.
extern "C" __global__ void __launch_bounds__(256)
    scatter_add(T* out, const I* index, const T* from, i64 total, i64 dim_step, i64 size, Walk g) {
  EACH(i, total) {
    const At p = at(g, i);
    add_to(out + p.a + place(index[p.b], size, 0, AssertSite::scatter_add) * dim_step, from[p.c]);
  }
}

constexpr int loaded = 16 / sizeof(T);  // neighbours of one load

template <int W> __device__ inline void add_line(T* p, Pack<T, W> line) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  if constexpr (W * sizeof(T) == 16 && (same_type<T, float>::value || is_narrow<T>)) {
    const u32* v = reinterpret_cast<const u32*>(&line);
    if constexpr (same_type<T, float>::value)
      asm volatile("red.global.add.v4.f32 [%0], {%1, %2, %3, %4};" ::"l"(p), "r"(v[0]), "r"(v[1]), "r"(v[2]), "r"(v[3])
          : "memory");
    else if constexpr (same_type<T, Half>::value)
      asm volatile(
          "red.global.add.noftz.v4.f16x2 [%0], {%1, %2, %3, %4};" ::"l"(p), "r"(v[0]), "r"(v[1]), "r"(v[2]), "r"(v[3])
          : "memory");
    else
      asm volatile(
          "red.global.add.noftz.v4.bf16x2 [%0], {%1, %2, %3, %4};" ::"l"(p), "r"(v[0]), "r"(v[1]), "r"(v[2]), "r"(v[3])
          : "memory");
    return;
  }
#endif
#pragma unroll
  for (int e = 0; e < W; ++e) add_to(p + e, line.v[e]);
}

template <int W>
__device__ inline void add_lines(T* out, const I* index, const T* from, Number total, Number inner, i64 size) {
  const Number lines = inner / W;
  EACH(i, total / W) {
    const Number k = i / lines, w = (i - k * lines) * W;
    add_line(out + place(index[k], size, 0, AssertSite::scatter_add) * i64(inner) + w,
        *reinterpret_cast<const Pack<T, W>*>(from + i64(i) * W));
  }
}
// out[index[k], w] += from[k, w]; `whole`: rows begin and end at whole loads. In no order.
extern "C" __global__ void __launch_bounds__(256)
    add_rows(T* out, const I* index, const T* from, i64 total, i64 inner, i64 size, int whole) {
  if (whole)
    add_lines<loaded>(out, index, from, Number(total), Number(inner), size);
  else
    add_lines<1>(out, index, from, Number(total), Number(inner), size);
}

struct Runs {
  const i64 *keys, *order;
  i64 count, inner, value_step;
};
template <int W> __device__ inline void add_run(T* out, const T* values, const Runs& r, i64 k, i64 key) {
  typedef typename pick<is_narrow<T>, float, typename pick<same_type<T, Bool>::value, int, T>::type>::type C;
  for (i64 w = (i64(blockIdx.y) * blockDim.x + threadIdx.x) * W; w < r.inner; w += i64(gridDim.y) * blockDim.x * W) {
    Pack<T, W>* to = reinterpret_cast<Pack<T, W>*>(out + key * r.inner + w);
    Pack<T, W> line = *to;
    C sum[W];
#pragma unroll
    for (int e = 0; e < W; ++e) sum[e] = cast<C>(line.v[e]);
    for (i64 j = k; j < r.count && r.keys[j] == key; ++j) {
      const Pack<T, W> more =
          *reinterpret_cast<const Pack<T, W>*>(values + r.order[j] * r.value_step + (r.value_step ? w : 0));
#pragma unroll
      for (int e = 0; e < W; ++e) sum[e] += cast<C>(more.v[e]);
    }
#pragma unroll
    for (int e = 0; e < W; ++e) line.v[e] = cast<T>(sum[e]);
    *to = line;
  }
}
// keys sorted, order[k] where the k-th was: out[key, w] (+)= the sum of values[order[k], w] over a key's k, in their order.
// Blocks of one run of equal keys; keys below 0 and `skip` are left out. `whole`: rows begin and end at whole loads.
extern "C" __global__ void __launch_bounds__(256)
    add_runs(T* out, const T* values, Runs r, i64 size, i64 skip, int whole) {
  const i64 k = blockIdx.x, key = r.keys[k];
  if ((k > 0 && r.keys[k - 1] == key) || key < 0 || key == skip) return;
  if (key >= size) assert_failed(AssertSite::add_runs, key, size);
  whole ? add_run<loaded>(out, values, r, k, key) : add_run<1>(out, values, r, k, key);
}
#endif
