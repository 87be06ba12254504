#include "cpu/interpolation.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "cpu/kernel_table.h"
#include "cpu/parallel.h"
#include "ops/kernels.h"

namespace shim {
namespace {

struct DimLayout {
  int64_t outer, size, inner;
};
DimLayout along(const Tensor& x, int dim) {
  DimLayout l{1, x->sizes()[size_t(dim)], 1};
  for (int d = 0; d < x->dim(); ++d)
    (d < dim ? l.outer : d > dim ? l.inner : l.size) *= d == dim ? 1 : x->sizes()[size_t(d)];
  return l;
}

template <class T> SHIM_MATH_CLONES void add_row(T* to, const T* from, T by, int64_t n, bool first) {
  if (first)
    for (int64_t i = 0; i < n; ++i) to[i] = by * from[i];
  else
    for (int64_t i = 0; i < n; ++i) to[i] += by * from[i];
}
template <class T> SHIM_MATH_CLONES void mix_rows(T* to, const T* a, const T* b, T u, T v, int64_t n) {
  for (int64_t i = 0; i < n; ++i) to[i] = u * a[i] + v * b[i];
}

// One row of elements side by side, of exactly K taps each; 0: as many as there are.
template <int K, class T> void row_of(const T* x, T* y, int64_t count, int64_t taps, const int64_t* at, const T* w) {
  for (int64_t i = 0; i < count; ++i, at += taps, w += taps) {
    T sum = 0;
    for (int64_t k = 0; k < (K ? K : taps); ++k) {
      if (!K && at[k] < 0) break;
      sum += w[k] * x[at[k]];
    }
    y[i] = sum;
  }
}

template <class T>
void lines_of(const T* x, T* y, int64_t count, int64_t taps, int64_t inner, const int64_t* at, const T* w, bool full) {
  for (int64_t i = 0; i < count; ++i, at += taps, w += taps, y += inner) {
    if (full && taps == 2) {
      mix_rows(y, x + at[0] * inner, x + at[1] * inner, w[0], w[1], inner);
      continue;
    }
    if (at[0] < 0) std::fill_n(y, inner, T(0));
    for (int64_t k = 0; k < taps && at[k] >= 0; ++k) add_row(y, x + at[k] * inner, w[k], inner, k == 0);
  }
}

template <class T>
void weighted_into(const Tensor& x, DimLayout l, const Tensor& indices, const Tensor& weights, const Tensor& out) {
  const int64_t count = indices->sizes()[0], taps = indices->sizes()[1], *at = indices->data_as<int64_t>();
  const bool full = std::all_of(at, at + count * taps, [](int64_t p) { return p >= 0; });
  const auto row = full && taps == 1   ? row_of<1, T>
                   : full && taps == 2 ? row_of<2, T>
                   : full && taps == 4 ? row_of<4, T>
                                       : row_of<0, T>;
  parallel_for(l.outer, std::max<int64_t>(1, kGrain / std::max<int64_t>(1, count * taps * l.inner)),
      [&](int64_t begin, int64_t end) {
        for (int64_t o = begin; o < end; ++o) {
          const T* from = x->data_as<T>() + o * l.size * l.inner;
          T* to = out->data_as<T>() + o * count * l.inner;
          if (l.inner == 1)
            row(from, to, count, taps, at, weights->data_as<T>());
          else
            lines_of(from, to, count, taps, l.inner, at, weights->data_as<T>(), full);
        }
      });
}

template <class T>
void spread_into(
    const Tensor& g, DimLayout l, int64_t size, const Tensor& indices, const Tensor& weights, const Tensor& out) {
  const int64_t count = indices->sizes()[0], taps = indices->sizes()[1], *index_data = indices->data_as<int64_t>();
  parallel_for(l.outer, std::max<int64_t>(1, kGrain / std::max<int64_t>(1, count * taps * l.inner)),
      [&](int64_t begin, int64_t end) {
        for (int64_t o = begin; o < end; ++o) {
          const T *from = g->data_as<T>() + o * count * l.inner, *w = weights->data_as<T>();
          T* to = out->data_as<T>() + o * size * l.inner;
          std::fill_n(to, size * l.inner, T(0));
          const int64_t* at = index_data;
          for (int64_t i = 0; i < count; ++i, at += taps, w += taps)
            for (int64_t k = 0; k < taps && at[k] >= 0; ++k) {
              if (l.inner == 1)
                to[at[k]] += w[k] * from[i];
              else
                add_row(to + at[k] * l.inner, from + i * l.inner, w[k], l.inner, false);
            }
        }
      });
}

Tensor resized_along(const Tensor& x, int dim, int64_t size) {
  Dims sizes(x->sizes().begin(), x->sizes().end());
  sizes[size_t(dim)] = size;
  return empty(sizes, x->dtype(), Device{});
}

// --- grids ---------------------------------------------------------------------------------------------------------------

// A place along a dim of `size`, and what it moves by where the grid's coordinate does: -1 and 1 are `low` and `low + span`. Beyond these
// an image reflected at both repeats itself after two spans. What is held at the border does not move; no number counts as 0 there.
template <class T> T place_of(T given, int64_t size, GridSettings s, T* slope) {
  const T span = s.align_corners ? T(size - 1) : T(size), low = s.align_corners ? T(0) : T(-0.5), last = T(size - 1);
  T x = (given + T(1)) * span / T(2) + low;
  *slope = span / T(2);
  if (s.padding == 0) return x;
  if (s.padding == 2) {
    const T beyond = x - low, turn = std::fmod(std::fabs(beyond), 2 * span);
    const bool back = turn > span;
    x = low + (back ? 2 * span - turn : turn);
    if ((beyond < T(0)) != back) *slope = -*slope;
  }
  if (!(x > T(0) && x < last)) *slope = T(0);
  return x > T(0) ? std::min(x, last) : T(0);
}

// The corners around every place of one sample's grid that are inside: of which place, where in a plane, and their weights.
template <class T> struct Corners {
  int dims, corners;
  std::vector<int32_t> of[8], at[8];
  std::vector<T> weight[8], part[3], slope[3];  // part: how far past the lower neighbour

  void find(const T* grid, int64_t count, const int64_t* sizes, int n, GridSettings s);
};

// How far along each dim a place is: the lower neighbour (the nearest one), and what is beyond it.
template <class T>
SHIM_NARROW_CLONES void along_dim(
    const T* grid, int64_t step, int64_t count, int64_t size, GridSettings s, T* low, T* part, T* slope) {
  for (int64_t i = 0; i < count; ++i) {
    const T x = place_of(grid[i * step], size, s, &slope[i]);
    low[i] = s.nearest ? std::nearbyint(x) : std::floor(x);
    part[i] = x - low[i];
  }
}

// One corner: flat places in a plane so far, times the dim's size, and the weights.
template <class T>
SHIM_NARROW_CLONES void corner_along(
    const T* low, const T* part, int64_t count, int64_t size, bool up, bool whole, int32_t* at, T* weight) {
  for (int64_t i = 0; i < count; ++i) {
    const T x = low[i] + T(up);
    const bool in = x >= T(0) && x < T(size) && at[i] >= 0;
    at[i] = in ? at[i] * int32_t(size) + int32_t(in ? x : T(0)) : -1;
    weight[i] *= whole ? T(1) : up ? part[i] : T(1) - part[i];
  }
}

template <class T> void Corners<T>::find(const T* grid, int64_t count, const int64_t* sizes, int n, GridSettings s) {
  dims = n, corners = s.nearest ? 1 : 1 << n;
  std::vector<T> low[3];
  for (int d = 0; d < n; ++d) {  // the grid's last coordinate is the first dim's
    part[d].resize(size_t(count)), slope[d].resize(size_t(count)), low[d].resize(size_t(count));
    along_dim(grid + n - 1 - d, n, count, sizes[d], s, low[d].data(), part[d].data(), slope[d].data());
  }
  for (int k = 0; k < corners; ++k) {
    at[k].assign(size_t(count), 0), weight[k].assign(size_t(count), T(1));
    for (int d = 0; d < n; ++d)
      corner_along(
          low[d].data(), part[d].data(), count, sizes[d], k >> d & 1, s.nearest, at[k].data(), weight[k].data());
    size_t inside = 0;
    of[k].resize(size_t(count));
    for (size_t i = 0; i < size_t(count); ++i) {
      of[k][inside] = int32_t(i), at[k][inside] = at[k][i], weight[k][inside] = weight[k][i];
      inside += at[k][i] >= 0;
    }
    of[k].resize(inside), at[k].resize(inside), weight[k].resize(inside);
  }
}

struct Shape {
  int n;
  int64_t batch, channels, plane = 1, count = 1;
  Shape(const Tensor& x, const Tensor& grid) : n(x->dim() - 2), batch(x->sizes()[0]), channels(x->sizes()[1]) {
    for (int d = 0; d < n; ++d) plane *= x->sizes()[size_t(2 + d)], count *= grid->sizes()[size_t(1 + d)];
  }
};

template <class F> void each_sample(const Shape& s, F&& f) {
  parallel_for(s.batch, std::max<int64_t>(1, kGrain / std::max<int64_t>(1, s.channels * s.count)),
      [&](int64_t begin, int64_t end) {
        for (int64_t b = begin; b < end; ++b) f(b);
      });
}

template <class T> void sample_into(const Tensor& x, const Tensor& grid, GridSettings settings, const Tensor& out) {
  const Shape s(x, grid);
  each_sample(s, [&](int64_t b) {
    Corners<T> c;
    c.find(grid->data_as<T>() + b * s.count * s.n, s.count, x->sizes().data() + 2, s.n, settings);
    for (int64_t p = b * s.channels; p < (b + 1) * s.channels; ++p) {
      const T* from = x->data_as<T>() + p * s.plane;
      T* to = out->data_as<T>() + p * s.count;
      std::fill_n(to, s.count, T(0));
      for (int k = 0; k < c.corners; ++k) {
        const int32_t *of = c.of[k].data(), *at = c.at[k].data();
        const T* w = c.weight[k].data();
        for (size_t j = 0; j < c.at[k].size(); ++j) to[of[j]] += w[j] * from[at[j]];
      }
    }
  });
}

// What the grid's coordinates change, of sums over the channels of gradient times corner.
template <class T> void grid_slopes(const Corners<T>& c, const std::vector<T> (&sums)[8], int64_t count, T* to) {
  for (int64_t i = 0; i < count; ++i)
    for (int d = 0; d < c.dims; ++d) {
      T total = 0;
      for (int k = 0; k < c.corners; ++k) {
        T w = sums[k][size_t(i)];
        for (int e = 0; e < c.dims; ++e)
          w *= e == d ? (k >> e & 1 ? T(1) : T(-1)) : (k >> e & 1 ? c.part[e][size_t(i)] : T(1) - c.part[e][size_t(i)]);
        total += w;
      }
      to[i * c.dims + c.dims - 1 - d] = total * c.slope[d][size_t(i)];
    }
}

template <class T>
void sample_backward_into(
    const Tensor& g, const Tensor& x, const Tensor& grid, GridSettings settings, const GridGradients& out) {
  const Shape s(x, grid);
  const bool slopes = out.grid && !settings.nearest;
  each_sample(s, [&](int64_t b) {
    Corners<T> c;
    c.find(grid->data_as<T>() + b * s.count * s.n, s.count, x->sizes().data() + 2, s.n, settings);
    std::vector<T> sums[8];
    for (int k = 0; slopes && k < c.corners; ++k) sums[k].assign(size_t(s.count), T(0));
    for (int64_t p = b * s.channels; p < (b + 1) * s.channels; ++p) {
      const T *from = x->data_as<T>() + p * s.plane, *slope = g->data_as<T>() + p * s.count;
      T* to = out.input ? out.input->data_as<T>() + p * s.plane : nullptr;
      if (to) std::fill_n(to, s.plane, T(0));
      for (int k = 0; k < c.corners; ++k) {
        const int32_t *of = c.of[k].data(), *at = c.at[k].data();
        const T* w = c.weight[k].data();
        T* sum = sums[k].data();
        for (size_t j = 0; to && j < c.at[k].size(); ++j) to[at[j]] += w[j] * slope[of[j]];
        for (size_t j = 0; slopes && j < c.at[k].size(); ++j) sum[of[j]] += from[at[j]] * slope[of[j]];
      }
    }
    if (!out.grid) return;
    T* to = out.grid->data_as<T>() + b * s.count * s.n;
    if (slopes)
      grid_slopes(c, sums, s.count, to);
    else
      std::fill_n(to, s.count * s.n, T(0));
  });
}

}  // namespace

Tensor weighted(const Tensor& x, int dim, const Tensor& indices, const Tensor& weights) {
  const DimLayout l = along(x, dim);
  const Tensor out = resized_along(x, dim, indices->sizes()[0]);
  x->dtype() == DType::f64 ? weighted_into<double>(x, l, indices, weights, out)
                           : weighted_into<float>(x, l, indices, weights, out);
  return out;
}

Tensor spread(const Tensor& g, int dim, int64_t size, const Tensor& indices, const Tensor& weights) {
  const DimLayout l = along(g, dim);
  const Tensor out = resized_along(g, dim, size);
  g->dtype() == DType::f64 ? spread_into<double>(g, l, size, indices, weights, out)
                           : spread_into<float>(g, l, size, indices, weights, out);
  return out;
}

Tensor sample_at(const Tensor& x, const Tensor& grid, GridSettings s) {
  Dims sizes(grid->sizes().begin(), grid->sizes().end() - 1);
  sizes.insert(sizes.begin() + 1, x->sizes()[1]);
  const Tensor out = empty(sizes, x->dtype(), Device{});
  x->dtype() == DType::f64 ? sample_into<double>(x, grid, s, out) : sample_into<float>(x, grid, s, out);
  return out;
}

GridGradients sample_at_backward(
    const Tensor& g, const Tensor& x, const Tensor& grid, GridSettings s, bool want_input, bool want_grid) {
  GridGradients out;
  if (want_input) out.input = empty(x->sizes(), x->dtype(), Device{});
  if (want_grid) out.grid = empty(grid->sizes(), x->dtype(), Device{});
  x->dtype() == DType::f64 ? sample_backward_into<double>(g, x, grid, s, out)
                           : sample_backward_into<float>(g, x, grid, s, out);
  return out;
}

}  // namespace shim
