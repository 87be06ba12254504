#pragma once
// One operation on many tensors, compiled by NVRTC with macros:
//   ELEMENT the element type of all, C its compute type, V elements of one load, and one of
//   EACH 1: functors.cuh's macros, K1.. what an input is: 0 a tensor, 1 one element for all of a tensor, 2 a number for each
//   NORM 0 the sums of squares, 1 of magnitudes, 2 the greatest magnitude
//   ADAM, SGD: an optimizer's step, the sum of 1 and, for Adam, 2 with the greatest mean squares and 4 with decoupled decay, for SGD 2 with
//   momentum
//   STEP one by a rule of ops/special/optimizer_rules.h: 1 Adagrad, 2 RMSprop, 3 with momentum, 4 centred, 5 both, 6 Adadelta, 7 Adamax, 8 NAdam, 9 RAdam.
#include "cuda/kernels/types.cuh"

typedef ELEMENT T;
#define MOST 40
#define CHUNK (256 * V)
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
// In one instruction: an assignment of elements that are in registers becomes a store of each.
__device__ inline void store(T* p, const Load& x) {
#ifdef __CUDA_ARCH__
  if constexpr (sizeof(Load) == 16) {
    u32 w[4];
    memcpy(w, &x, 16);
    asm volatile("st.global.v4.b32 [%0], {%1, %2, %3, %4};" ::"l"(p), "r"(w[0]), "r"(w[1]), "r"(w[2]), "r"(w[3])
        : "memory");
    return;
  }
#endif
  *reinterpret_cast<Load*>(p) = x;
}
// f(an element of each list) for the block's part of tensor i: the lists of `loaded`, a bit each, are loaded before and those of
// `stored` stored after. What is no whole load at a tensor's end is taken by single elements: were both ways one, each load would
// be waited for where they meet.
template <u32 loaded, u32 stored, int pointers, class F>
__device__ inline void walk(const Lists<pointers>& l, int i, F f) {
  const i64 n = l.size[i], begin = i64(blockIdx.x - l.first[i]) * CHUNK;
  if (const i64 at = begin + threadIdx.x * V; at + V <= n) {
    Load x[pointers];
#pragma unroll
    for (int p = 0; p < pointers; ++p)
      if (loaded >> p & 1) x[p] = *reinterpret_cast<const Load*>(l.of[p][i] + at);
#pragma unroll
    for (int k = 0; k < V; ++k) {
      T e[pointers];
#pragma unroll
      for (int p = 0; p < pointers; ++p)
        if (loaded >> p & 1) e[p] = x[p].v[k];
      f(e);
#pragma unroll
      for (int p = 0; p < pointers; ++p)
        if (stored >> p & 1) x[p].v[k] = e[p];
    }
#pragma unroll
    for (int p = 0; p < pointers; ++p)
      if (stored >> p & 1) store(l.of[p][i] + at, x[p]);
  }
  const i64 end = n - n % V + threadIdx.x;
  if (V == 1 || end >= n || end < begin || end >= begin + CHUNK) return;
  T e[pointers];
#pragma unroll
  for (int p = 0; p < pointers; ++p)
    if (loaded >> p & 1) e[p] = l.of[p][i][end];
  f(e);
#pragma unroll
  for (int p = 0; p < pointers; ++p)
    if (stored >> p & 1) l.of[p][i][end] = e[p];
}

#ifdef EACH
extern "C" __global__ void __launch_bounds__(256) each(Lists<N_IN + 1> l) {
  const int i = tensor_of(l);
  const C own = l.number[i];
  constexpr bool each_b = N_IN > 1 && K2 == 0, each_c = N_IN > 2 && K3 == 0;
  const C one_b = N_IN > 1 && K2 == 1 ? take(*l.of[N_IN > 1 ? 2 : 0][i]) : own,
          one_c = N_IN > 2 && K3 == 1 ? take(*l.of[N_IN > 2 ? 3 : 0][i]) : own;
  walk<2 | each_b << 2 | each_c << 3, 1>(l, i, [&](T(&x)[N_IN + 1]) {
    x[0] = compute(take(x[1]), each_b ? take(x[each_b ? 2 : 0]) : one_b, each_c ? take(x[each_c ? 3 : 0]) : one_c,
        {own, C(0), C(0)});
  });
}
#endif

#ifdef NORM
__device__ inline Load load(const T* p, bool whole, i64 left) {
  if (whole) return *reinterpret_cast<const Load*>(p);
  Load r;
#pragma unroll
  for (int k = 0; k < V; ++k)
    if (k < left) r.v[k] = p[k];
  return r;
}
#define ROUNDS 4
// f(place, whether V elements from there are the tensor's, how many are) for the block's part of the tensor.
template <class F> __device__ inline void rounds(i64 begin, i64 n, F f) {
#pragma unroll
  for (int r = 0; r < ROUNDS; ++r) {
    const i64 at = begin + (i64(r) * 256 + threadIdx.x) * V;
    if (at < n) f(at, at + V <= n, n - at);
  }
}
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
  for (i64 begin = i64(blockIdx.x) * ROUNDS * CHUNK; begin < l.size[i]; begin += i64(gridDim.x) * ROUNDS * CHUNK) {
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
#include "cuda/kernels/quotients.cuh"
// Parameter, gradient, mean, mean square and, for AMSGRAD, the greatest mean square. Where steps are counted on the device, size is the
// rate and root unused: `counted` has both, of each tensor. A graph's numbers are elsewhere.
struct AdamNumbers {
  double beta1, beta2;
  C eps, decay, size[MOST], root[MOST];
};
struct Adam {
  AdamNumbers own;
  const AdamNumbers* elsewhere;
  float* step[MOST];
  C* counted;
  int maximize;
};
// One step more of each tensor: what its count makes of the rate, once, for powers of doubles take longer than a block's part of a step.
extern "C" __global__ void __launch_bounds__(64) adam_counts(Adam o, int count) {
  const int i = threadIdx.x;
  if (i >= count) return;
  const AdamNumbers& n = o.elsewhere ? *o.elsewhere : o.own;
  const float step = *o.step[i] + 1;
  *o.step[i] = step;
  o.counted[2 * i] = C(double(n.size[i]) / (1 - pow(n.beta1, double(step))));
  o.counted[2 * i + 1] = C(sqrt(1 - pow(n.beta2, double(step))));
}
extern "C" __global__ void __launch_bounds__(256) adam(Lists<5> l, Adam o) {
  const int i = tensor_of(l);
  const AdamNumbers& n = o.elsewhere ? *o.elsewhere : o.own;
  const C size = o.counted ? o.counted[2 * i] : n.size[i], root = o.counted ? o.counted[2 * i + 1] : n.root[i];
  const C eps = n.eps, decay = n.decay, fresh1 = C(1 - n.beta1), beta2 = C(n.beta2), fresh2 = C(1 - n.beta2),
          one_by_root = reciprocal(root);
  constexpr bool greatest = ADAM & 2;
  // What is alike for all elements is no branch of each.
  const bool near = fresh1 < C(0.5);
  const C share = near ? fresh1 : fresh1 - C(1), sign = o.maximize ? C(-1) : C(1);
  walk<15 | greatest << 4, 13 | greatest << 4>(l, i, [&](T(&of)[5]) {
    C x = cast<C>(of[0]), g = cast<C>(of[1]) * sign;
    if (ADAM & 4) {
      x = x * decay;
    } else {
      const C decayed = g + decay * x;
      g = decay != C(0) ? decayed : g;
    }
    C mean = cast<C>(of[2]), square = cast<C>(of[3]);
    mean = (near ? mean : g) + share * (g - mean);
    square = square * beta2 + fresh2 * g * g;
    of[2] = cast<T>(mean);
    of[3] = cast<T>(square);
    if (greatest) {
      const C before = cast<C>(of[4]);
      square = square != square || square > before ? square : before;
      of[4] = cast<T>(square);
    }
    const C below = quotient(root_of(square), root, one_by_root) + eps;
    of[0] = cast<T>(x - size * quotient(mean, below, reciprocal(below)));
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
  int nesterov, maximize;
};
extern "C" __global__ void __launch_bounds__(256) sgd(Lists<3> l, Sgd o) {  // parameter, gradient, momentum
  const int i = tensor_of(l);
  const SgdNumbers n = o.elsewhere ? *o.elsewhere : o.own;
  constexpr bool momentum = SGD & 2;
  walk<3 | momentum << 2, 1 | momentum << 2>(l, i, [&](T(&of)[3]) {
    const C x = cast<C>(of[0]);
    C g = cast<C>(of[1]);
    if (o.maximize) g = -g;
    if (n.decay != C(0)) g = g + n.decay * x;
    if (momentum) {
      const C moved = cast<C>(of[2]) * n.momentum + n.fresh * g;
      of[2] = cast<T>(moved);
      g = o.nesterov ? g + n.momentum * moved : moved;
    }
    of[0] = cast<T>(x - n.rate * g);
  });
}
#endif

#ifdef STEP
namespace shim::optimizers {
template <class X> using Wide = C;
template <class X> __device__ inline C rounded(C x) { return cast<C>(cast<X>(x)); }
}  // namespace shim::optimizers
#include "ops/special/optimizer_rules.h"
namespace shim::optimizers {
#if STEP == 1
typedef AdagradSettings Settings;
typedef Adagrad<T> Rule;
#elif STEP <= 5
typedef RmspropSettings Settings;
typedef Rmsprop<T, (STEP - 2) % 2, (STEP - 2) / 2> Rule;
#elif STEP == 6
typedef AdadeltaSettings Settings;
typedef Adadelta<T> Rule;
#elif STEP == 7
typedef AdamaxSettings Settings;
typedef Adamax<T> Rule;
#elif STEP == 8
typedef AdamSettings Settings;
typedef Nadam<T> Rule;
#else
typedef AdamSettings Settings;
typedef Radam<T> Rule;
#endif
}  // namespace shim::optimizers
typedef shim::optimizers::Settings Settings;
typedef shim::optimizers::Rule Rule;
struct RuleNumbers {
  Settings settings;
  double rates[3][MOST];  // of each tensor
};
struct Step {
  RuleNumbers own;
  const RuleNumbers* elsewhere;  // a graph's
};
// Parameter, gradient, states.
extern "C" __global__ void __launch_bounds__(256) by_rule(Lists<Rule::states + 2> l, Step o) {
  constexpr int states = Rule::states;
  const int i = tensor_of(l);
  const RuleNumbers& n = o.elsewhere ? *o.elsewhere : o.own;
  const double rates[3] = {n.rates[0][i], n.rates[1][i], n.rates[2][i]};
  const Rule rule(n.settings, rates);
  constexpr u32 all = (1u << (states + 2)) - 1;
  walk<all, all - 2>(l, i, [&](T(&of)[states + 2]) {
    C x = cast<C>(of[0]), state[states];
#pragma unroll
    for (int k = 0; k < states; ++k) state[k] = cast<C>(of[k + 2]);
    rule(x, cast<C>(of[1]), state);
    of[0] = cast<T>(x);
#pragma unroll
    for (int k = 0; k < states; ++k) of[k + 2] = cast<T>(state[k]);
  });
}
#endif
