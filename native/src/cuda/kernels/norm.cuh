#pragma once
// Layer, root-mean-square and group norms, forward and backward, compiled by NVRTC with macros:
//   ELEMENT the element type, C the type it is computed in, V elements of one load, LOADS loads of a row that a thread keeps (0: they are made
//   again in every pass), CENTRED 1 where the mean is taken off.
#include "cuda/kernels/block.cuh"

// f(column, loads of the rows a and b) for every load of this thread's part of a row.
struct Kept {
  Load a[LOADS ? LOADS : 1], b[LOADS ? LOADS : 1];
};
template <bool two> __device__ inline void keep(Kept& kept, const T* a, const T* b, i64 cols) {
#pragma unroll
  for (int k = 0; k < LOADS; ++k) {
    const i64 c = (i64(k) * blockDim.x + threadIdx.x) * V;
    if (c < cols) {
      kept.a[k] = load(a + c);
      if (two) kept.b[k] = load(b + c);
    }
  }
}
template <bool two, class F> __device__ inline void each(const Kept& kept, const T* a, const T* b, i64 cols, F f) {
  if (LOADS) {
#pragma unroll
    for (int k = 0; k < LOADS; ++k) {
      const i64 c = (i64(k) * blockDim.x + threadIdx.x) * V;
      if (c < cols) f(c, kept.a[k], kept.b[k]);
    }
  } else {
    for (i64 c = i64(threadIdx.x) * V; c < cols; c += i64(blockDim.x) * V) {
      const Load x = load(a + c), y = two ? load(b + c) : x;
      f(c, x, y);
    }
  }
}

// Which weight belongs to an element: of its column, or of its channel, `span` neighbouring columns each, `groups` rows a sample.
struct Weights {
  const T *weight, *bias;
  i64 span, first;
  __device__ Weights(const T* w, const T* b, i64 s, i64 groups, i64 row, i64 cols)
      : weight(w), bias(b), span(s), first(s ? row % groups * (cols / s) : 0) {}
  __device__ i64 at(i64 column) const { return span ? first + column / span : column; }
};

extern "C" __global__ void __launch_bounds__(1024) forward(
    const T* x, T* y, const T* weight, const T* bias, C* means, C* rstds, i64 cols, i64 span, i64 groups, double eps) {
  const i64 row = blockIdx.x;
  const T* from = x + row * cols;
  T* to = y + row * cols;
  Kept kept;
  keep<false>(kept, from, from, cols);
  C mean = 0, squares = 0;
  if (CENTRED) {
    C sum = 0;
    each<false>(kept, from, from, cols, [&](i64, const Load& a, const Load&) {
      for (int k = 0; k < V; ++k) sum += wide(a.v[k]);
    });
    mean = across_block(sum) / C(cols);
  }
  each<false>(kept, from, from, cols, [&](i64, const Load& a, const Load&) {
    for (int k = 0; k < V; ++k) {
      const C d = wide(a.v[k]) - mean;
      squares += d * d;
    }
  });
  const C scale = rsqrt(across_block(squares) / C(cols) + C(eps));
  if (threadIdx.x == 0) {
    if (CENTRED) means[row] = mean;
    rstds[row] = scale;
  }
  const Weights w(weight, bias, span, groups, row, cols);
  each<false>(kept, from, from, cols, [&](i64 c, const Load& a, const Load&) {
    Load r;
    if (span) {  // V divides span: one channel a load
      const C m = weight ? wide(weight[w.at(c)]) : C(1), n = bias ? wide(bias[w.at(c)]) : C(0);
      for (int k = 0; k < V; ++k) r.v[k] = cast<T>((wide(a.v[k]) - mean) * scale * m + n);
    } else {
      Load m, n;
      if (weight) m = load(weight + c);
      if (bias) n = load(bias + c);
      for (int k = 0; k < V; ++k) {
        C v = (wide(a.v[k]) - mean) * scale;
        if (weight) v *= wide(m.v[k]);
        if (bias) v += wide(n.v[k]);
        r.v[k] = cast<T>(v);
      }
    }
    store(to + c, r);
  });
}

extern "C" __global__ void __launch_bounds__(1024)
    backward(const T* g, const T* x, T* dx, const T* weight, const C* means, const C* rstds, i64 cols) {
  const i64 row = blockIdx.x;
  const T *from = x + row * cols, *grad = g + row * cols;
  T* to = dx + row * cols;
  const C mean = CENTRED ? means[row] : C(0), scale = rstds[row];
  Kept kept;
  keep<true>(kept, from, grad, cols);
  C sum = 0, product = 0;
  each<true>(kept, from, grad, cols, [&](i64 c, const Load& a, const Load& b) {
    Load m;
    if (weight) m = load(weight + c);
    for (int k = 0; k < V; ++k) {
      const C d = weight ? wide(b.v[k]) * wide(m.v[k]) : wide(b.v[k]);
      sum += d;
      product += d * (wide(a.v[k]) - mean) * scale;
    }
  });
  const C first = CENTRED ? across_block(sum) / C(cols) : C(0), second = across_block(product) / C(cols);
  each<true>(kept, from, grad, cols, [&](i64 c, const Load& a, const Load& b) {
    Load m, r;
    if (weight) m = load(weight + c);
    for (int k = 0; k < V; ++k) {
      const C d = weight ? wide(b.v[k]) * wide(m.v[k]) : wide(b.v[k]);
      r.v[k] = cast<T>(scale * (d - first - (wide(a.v[k]) - mean) * scale * second));
    }
    store(to + c, r);
  });
}

#if LOADS && LOADS * V <= 8
// The sums of two numbers over the block's threads, for each of them.
struct Two {
  C a, b;
};
__device__ inline Two two_across(Two t) {
  __shared__ Two shared[32];
#pragma unroll
  for (int step = 16; step; step /= 2) {
    t.a += __shfl_xor_sync(FULL, t.a, step);
    t.b += __shfl_xor_sync(FULL, t.b, step);
  }
  if (threadIdx.x % 32 == 0) shared[threadIdx.x / 32] = t;
  __syncthreads();
  t = threadIdx.x % 32 < blockDim.x / 32 ? shared[threadIdx.x % 32] : Two{C(0), C(0)};
#pragma unroll
  for (int step = 16; step; step /= 2) {
    t.a += __shfl_xor_sync(FULL, t.a, step);
    t.b += __shfl_xor_sync(FULL, t.b, step);
  }
  __syncthreads();
  return t;
}

// dx of a block's rows, blockIdx.x, + gridDim.x, ..., the next one's loads under way; and parts[0][block] the sums over them of
// g * normalised x, parts[1][block] (CENTRED) of g.
extern "C" __global__ void __launch_bounds__(1024) backward_all(
    const T* g, const T* x, T* dx, const T* weight, const C* means, const C* rstds, C* parts, i64 rows, i64 cols) {
  C w[LOADS][V], b[LOADS][V];
  Load m[LOADS];
#pragma unroll
  for (int k = 0; k < LOADS; ++k) {
    const i64 c = (i64(k) * blockDim.x + threadIdx.x) * V;
    if (weight && c < cols) m[k] = load(weight + c);
#pragma unroll
    for (int i = 0; i < V; ++i) w[k][i] = b[k][i] = 0;
  }
  Kept now, next;
  i64 row = blockIdx.x;
  if (row < rows) keep<true>(now, x + row * cols, g + row * cols, cols);
  for (; row < rows; row += gridDim.x, now = next) {
    const i64 after = row + gridDim.x;
    if (after < rows) keep<true>(next, x + after * cols, g + after * cols, cols);
    const C mean = CENTRED ? means[row] : C(0), scale = rstds[row];
    Two sums = {C(0), C(0)};
#pragma unroll
    for (int k = 0; k < LOADS; ++k) {
      if ((i64(k) * blockDim.x + threadIdx.x) * V >= cols) break;
#pragma unroll
      for (int i = 0; i < V; ++i) {
        const C grad = wide(now.b[k].v[i]), normal = (wide(now.a[k].v[i]) - mean) * scale,
                d = weight ? grad * wide(m[k].v[i]) : grad;
        w[k][i] += grad * normal;
        if (CENTRED) {
          b[k][i] += grad;
          sums.a += d;
        }
        sums.b += d * normal;
      }
    }
    sums = two_across(sums);
    const C first = sums.a / C(cols), second = sums.b / C(cols);
#pragma unroll
    for (int k = 0; k < LOADS; ++k) {
      const i64 c = (i64(k) * blockDim.x + threadIdx.x) * V;
      if (c >= cols) break;
      Load r;
#pragma unroll
      for (int i = 0; i < V; ++i) {
        const C grad = wide(now.b[k].v[i]), normal = (wide(now.a[k].v[i]) - mean) * scale,
                d = weight ? grad * wide(m[k].v[i]) : grad;
        r.v[i] = cast<T>(scale * (d - first - normal * second));
      }
      store(dx + row * cols + c, r);
    }
  }
  C *of_weight = parts + i64(blockIdx.x) * cols, *of_bias = parts + (i64(gridDim.x) + blockIdx.x) * cols;
#pragma unroll
  for (int k = 0; k < LOADS; ++k) {
    const i64 c = (i64(k) * blockDim.x + threadIdx.x) * V;
    if (c >= cols) break;
#pragma unroll
    for (int i = 0; i < V; ++i) {
      of_weight[c + i] = w[k][i];
      if (CENTRED) of_bias[c + i] = b[k][i];
    }
  }
}
#endif

// Sums over the rows of g * normalised x, and of g: V columns a thread, parts[2][gridDim.y][cols]. 32 x 8 threads.
extern "C" __global__ void __launch_bounds__(256)
    weights(const T* g, const T* x, const C* means, const C* rstds, C* parts, i64 rows, i64 cols) {
  __shared__ C shared[2][8][32 * V];
  const i64 c = (i64(blockIdx.x) * 32 + threadIdx.x) * V;
  C w[V], b[V];
  for (int k = 0; k < V; ++k) w[k] = b[k] = 0;
  if (c < cols) {
    for (i64 r = i64(blockIdx.y) * 8 + threadIdx.y; r < rows; r += i64(gridDim.y) * 8) {
      const Load a = load(x + r * cols + c), d = load(g + r * cols + c);
      const C mean = CENTRED ? means[r] : C(0), scale = rstds[r];
#pragma unroll
      for (int k = 0; k < V; ++k) {
        w[k] += wide(d.v[k]) * (wide(a.v[k]) - mean) * scale;
        b[k] += wide(d.v[k]);
      }
    }
  }
  for (int k = 0; k < V; ++k) {
    shared[0][threadIdx.y][threadIdx.x * V + k] = w[k];
    shared[1][threadIdx.y][threadIdx.x * V + k] = b[k];
  }
  __syncthreads();
  const int thread = threadIdx.y * 32 + threadIdx.x;
  for (int place = thread; place < 64 * V; place += 256) {
    const int which = place / (32 * V), column = place % (32 * V);
    const i64 to = i64(blockIdx.x) * 32 * V + column;
    C sum = 0;
    for (int k = 0; k < 8; ++k) sum += shared[which][k][column];
    if (to < cols) parts[(i64(which) * gridDim.y + blockIdx.y) * cols + to] = sum;
  }
}
// The sums over the splits: 32 columns a block, 8 parts of the splits. blockIdx.y 0 of the weight, 1 of the bias.
extern "C" __global__ void __launch_bounds__(256) fold(const C* parts, T* weight, T* bias, i64 splits, i64 cols) {
  __shared__ C shared[8][33];
  const i64 c = i64(blockIdx.x) * 32 + threadIdx.x;
  T* to = blockIdx.y ? bias : weight;
  if (!to) return;
  const C* from = parts + i64(blockIdx.y) * splits * cols + c;
  C sum = 0;
  if (c < cols) {
#pragma unroll 4
    for (i64 s = threadIdx.y; s < splits; s += 8) sum += from[s * cols];
  }
  shared[threadIdx.y][threadIdx.x] = sum;
  __syncthreads();
  if (threadIdx.y || c >= cols) return;
  for (int k = 1; k < 8; ++k) sum += shared[k][threadIdx.x];
  to[c] = cast<T>(sum);
}

#include "cuda/kernels/group_norm.cuh"
