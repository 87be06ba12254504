#pragma once
// One operation on many tensors, compiled by NVRTC with macros:
//   ELEMENT the element type of all, C its compute type, V elements of one load, and one of
//   EACH 1: functors.cuh's macros, K1.. what an input is: 0 a tensor, 1 one element for all of a tensor, 2 a number for each
//   NORM 0 the sums of squares, 1 of magnitudes, 2 the greatest magnitude
//   ADAM 1, SGD 1: an optimizer's step.
#include "cuda/kernels/types.cuh"

typedef ELEMENT T;
#define MOST 40
#define ROUNDS 4
#define CHUNK (256 * V * ROUNDS)
// Tensor i has size[i] elements and the blocks first[i] .. first[i + 1], CHUNK elements each.
template <int pointers> struct Lists {
  T* of[pointers][MOST];
  i64 size[MOST];
  u32 first[MOST + 1];
  C number[MOST];
  int count;
};
template <int pointers> __device__ inline int tensor_of(const Lists<pointers>& l) {
  int low = 0, high = l.count;
  while (high - low > 1) {
    const int middle = (low + high) / 2;
    if (l.first[middle] <= blockIdx.x)
      low = middle;
    else
      high = middle;
  }
  return low;
}
template <class X, int n> struct alignas(sizeof(X) * n) Group {
  X v[n];
};
typedef Group<T, V> Load;
__device__ inline Load load(const T* p, bool whole, i64 left) {
  if (whole) return *reinterpret_cast<const Load*>(p);
  Load r;
#pragma unroll
  for (int k = 0; k < V; ++k)
    if (k < left) r.v[k] = p[k];
  return r;
}
__device__ inline void store(T* p, const Load& x, bool whole, i64 left) {
  if (whole) {
    *reinterpret_cast<Load*>(p) = x;
    return;
  }
#pragma unroll
  for (int k = 0; k < V; ++k)
    if (k < left) p[k] = x.v[k];
}
// f(place, whether V elements from there are the tensor's, how many are) for the block's part of the tensor.
template <class F> __device__ inline void rounds(i64 begin, i64 n, F f) {
#pragma unroll
  for (int r = 0; r < ROUNDS; ++r) {
    const i64 at = begin + (i64(r) * 256 + threadIdx.x) * V;
    if (at < n) f(at, at + V <= n, n - at);
  }
}

#ifdef EACH
extern "C" __global__ void __launch_bounds__(256) each(Lists<N_IN + 1> l) {
  const int i = tensor_of(l);
  const C own = l.number[i];
  const T *a = l.of[K1 < 2 ? 1 : 0][i], *b = l.of[N_IN > 1 && K2 < 2 ? 2 : 0][i],
          *c = l.of[N_IN > 2 && K3 < 2 ? 3 : 0][i];
  const C one_b = N_IN > 1 && K2 == 1 ? take(*b) : own, one_c = N_IN > 2 && K3 == 1 ? take(*c) : own;
  rounds(i64(blockIdx.x - l.first[i]) * CHUNK, l.size[i], [&](i64 at, bool whole, i64 left) {
    Load x = load(a + at, whole, left), y = x, z = x;
    if (N_IN > 1 && K2 == 0) y = load(b + at, whole, left);
    if (N_IN > 2 && K3 == 0) z = load(c + at, whole, left);
#pragma unroll
    for (int k = 0; k < V; ++k)
      x.v[k] = compute(take(x.v[k]), N_IN > 1 && K2 == 0 ? take(y.v[k]) : one_b,
          N_IN > 2 && K3 == 0 ? take(z.v[k]) : one_c, {own, C(0), C(0)});
    store(l.of[0][i] + at, x, whole, left);
  });
}
#endif

#ifdef NORM
__device__ inline C joined(C a, C b) { return NORM == 2 ? (a != a ? a : b != b ? b : a > b ? a : b) : a + b; }
__device__ inline C across(C value) {
  __shared__ C shared[8];
#pragma unroll
  for (int step = 16; step; step /= 2) value = joined(value, __shfl_xor_sync(0xffffffffu, value, step));
  if (threadIdx.x % 32 == 0) shared[threadIdx.x / 32] = value;
  __syncthreads();
  value = shared[0];
  for (int w = 1; w < 8; ++w) value = joined(value, shared[w]);
  return value;
}
// partial[first[i], block] = the parts of tensor i (blockIdx.y) that the block takes.
extern "C" __global__ void __launch_bounds__(256) parts(Lists<1> l, C* partial) {
  const int i = blockIdx.y;
  C sum = 0;
  for (i64 begin = i64(blockIdx.x) * CHUNK; begin < l.size[i]; begin += i64(gridDim.x) * CHUNK) {
    rounds(begin, l.size[i], [&](i64 at, bool whole, i64 left) {
      const Load x = load(l.of[0][i] + at, whole, left);
#pragma unroll
      for (int k = 0; k < V; ++k) {
        if (!whole && k >= left) continue;
        const C e = cast<C>(x.v[k]);
        sum = joined(sum, NORM == 0 ? e * e : fabs(e));
      }
    });
  }
  sum = across(sum);
  if (threadIdx.x == 0) partial[i64(l.first[i]) * gridDim.x + blockIdx.x] = sum;
}
// out[i], a block each, of `each` partials: the norm.
extern "C" __global__ void __launch_bounds__(256) whole(const C* partial, i64 each, T* out) {
  C sum = 0;
  for (i64 k = threadIdx.x; k < each; k += 256) sum = joined(sum, partial[blockIdx.x * each + k]);
  sum = across(sum);
  if (threadIdx.x == 0) out[blockIdx.x] = cast<T>(NORM == 0 ? C(sqrt(sum)) : sum);
}
#endif

#ifdef ADAM
// Parameter, gradient, mean, mean square and, for AMSGRAD, the greatest mean square. Where `step` counts on the device, size is the rate
// and root unused. A graph's numbers are elsewhere.
struct AdamNumbers {
  double beta1, beta2;
  C eps, decay, size[MOST], root[MOST];
};
struct Adam {
  AdamNumbers own;
  const AdamNumbers* elsewhere;
  const float* step[MOST];
  int amsgrad, maximize, decoupled, on_device;
};
extern "C" __global__ void __launch_bounds__(256) adam(Lists<5> l, Adam o) {
  const int i = tensor_of(l);
  const AdamNumbers* const from = o.elsewhere;
  const double beta1 = from ? from->beta1 : o.own.beta1, beta2_ = from ? from->beta2 : o.own.beta2;
  const C eps = from ? from->eps : o.own.eps, decay = from ? from->decay : o.own.decay;
  C size = from ? from->size[i] : o.own.size[i], root = from ? from->root[i] : o.own.root[i];
  if (o.on_device) {
    const double step = *o.step[i];
    size = C(double(size) / (1 - pow(beta1, step)));
    root = C(sqrt(1 - pow(beta2_, step)));
  }
  const C fresh1 = C(1 - beta1), beta2 = C(beta2_), fresh2 = C(1 - beta2_);
  rounds(i64(blockIdx.x - l.first[i]) * CHUNK, l.size[i], [&](i64 at, bool whole, i64 left) {
    Load p = load(l.of[0][i] + at, whole, left), m = load(l.of[2][i] + at, whole, left),
         v = load(l.of[3][i] + at, whole, left), most = v;
    const Load gradient = load(l.of[1][i] + at, whole, left);
    if (o.amsgrad) most = load(l.of[4][i] + at, whole, left);
#pragma unroll
    for (int k = 0; k < V; ++k) {
      C x = cast<C>(p.v[k]), g = cast<C>(gradient.v[k]);
      if (o.maximize) g = -g;
      if (o.decoupled)
        x = x * decay;
      else if (decay != C(0))
        g = g + decay * x;
      C mean = cast<C>(m.v[k]), square = cast<C>(v.v[k]);
      mean = fresh1 < C(0.5) ? mean + fresh1 * (g - mean) : g - (g - mean) * (C(1) - fresh1);
      square = square * beta2 + fresh2 * g * g;
      m.v[k] = cast<T>(mean);
      v.v[k] = cast<T>(square);
      if (o.amsgrad) {
        const C before = cast<C>(most.v[k]);
        square = square != square || square > before ? square : before;
        most.v[k] = cast<T>(square);
      }
      p.v[k] = cast<T>(x - size * (mean / (C(sqrt(square)) / root + eps)));
    }
    store(l.of[0][i] + at, p, whole, left);
    store(l.of[2][i] + at, m, whole, left);
    store(l.of[3][i] + at, v, whole, left);
    if (o.amsgrad) store(l.of[4][i] + at, most, whole, left);
  });
}
#endif

#ifdef SGD
struct SgdNumbers {
  C rate, momentum, fresh, decay;
};
struct Sgd {
  SgdNumbers own;
  const SgdNumbers* elsewhere;  // a graph's
  int nesterov, maximize, has_momentum;
};
extern "C" __global__ void __launch_bounds__(256) sgd(Lists<3> l, Sgd o) {  // parameter, gradient, momentum
  const int i = tensor_of(l);
  const SgdNumbers n = o.elsewhere ? *o.elsewhere : o.own;
  rounds(i64(blockIdx.x - l.first[i]) * CHUNK, l.size[i], [&](i64 at, bool whole, i64 left) {
    Load p = load(l.of[0][i] + at, whole, left), gradient = load(l.of[1][i] + at, whole, left), b = p;
    if (o.has_momentum) b = load(l.of[2][i] + at, whole, left);
#pragma unroll
    for (int k = 0; k < V; ++k) {
      const C x = cast<C>(p.v[k]);
      C g = cast<C>(gradient.v[k]);
      if (o.maximize) g = -g;
      if (n.decay != C(0)) g = g + n.decay * x;
      if (o.has_momentum) {
        const C moved = cast<C>(b.v[k]) * n.momentum + n.fresh * g;
        b.v[k] = cast<T>(moved);
        g = o.nesterov ? g + n.momentum * moved : moved;
      }
      p.v[k] = cast<T>(x - n.rate * g);
    }
    store(l.of[0][i] + at, p, whole, left);
    if (o.has_momentum) store(l.of[2][i] + at, b, whole, left);
  });
}
#endif
