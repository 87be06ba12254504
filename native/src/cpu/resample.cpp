#include "cpu/resample.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "autograd/autograd.h"
#include "core/checked.h"
#include "cpu/kernel_table.h"
#include "cpu/parallel.h"
#include "cpu/types.h"
#include "cpu/window_settings.h"

namespace shim {
namespace {

// What one place of the result is of the source; 0: the sizes' own.
struct Scales {
  double height = 0, width = 0;
};

double step_of(int64_t size, int64_t out, double given, bool align_corners) {
  if (align_corners) return out > 1 ? double(size - 1) / double(out - 1) : 0;
  return given > 0 ? given : double(size) / double(out);
}

std::vector<int64_t> nearest_indices(int64_t size, int64_t out, double given) {
  std::vector<int64_t> indices;
  const float step = float(step_of(size, out, given, false));
  for (int64_t i = 0; i < out; ++i)
    indices.push_back(out == size ? i : std::min(int64_t(std::floor(float(i) * step)), size - 1));
  return indices;
}

// Between two neighbours: the first one, the second one, and its weight.
template <class T> struct Between {
  int64_t first, second;
  T weight;
};
template <class T> std::vector<Between<T>> linear_weights(int64_t size, int64_t out, double given, bool align_corners) {
  std::vector<Between<T>> places;
  const T step = out == size ? T(1) : T(step_of(size, out, given, align_corners));
  for (int64_t i = 0; i < out; ++i) {
    const T at = align_corners || out == size ? T(i) * step : std::max((T(i) + T(0.5)) * step - T(0.5), T(0));
    const int64_t first = std::min(int64_t(at), size - 1);
    places.push_back({first, std::min(first + 1, size - 1), at - T(first)});
  }
  return places;
}

// The four neighbours of each place of a grid, -1 where there is none, and their weights.
template <class T> struct Taps {
  std::vector<int32_t> at[4];
  std::vector<T> weight[4], x, y;
};

// Beyond the border an image reflected at both ends repeats itself after two spans.
template <class T> T kept_inside(T x, int64_t size, int padding, bool align_corners) {
  if (padding == 2) {
    const T low = align_corners ? T(0) : T(-0.5), span = align_corners ? T(size - 1) : T(size);
    const T turn = std::fmod(std::fabs(x - low), 2 * span);
    x = low + (turn > span ? 2 * span - turn : turn);
  }
  return std::min(x > T(0) ? x : T(0), T(size - 1));  // what is no number counts as 0
}

template <class T>
__attribute__((noinline)) void keep_inside(T* x, int64_t n, int64_t size, int padding, bool align_corners) {
  for (int64_t i = 0; i < n; ++i) x[i] = kept_inside(x[i], size, padding, align_corners);
}

template <class T>
SHIM_CLONES void find_taps(const T* grid, int64_t count, int32_t height, int32_t width, bool nearest, int padding,
    bool align_corners, Taps<T>& taps) {
  T *x = taps.x.data(), *y = taps.y.data();
  const T over = align_corners ? T(1) : T(0), high = T(height) - over, wide = T(width) - over,
          less = align_corners ? T(0) : T(1);
#pragma GCC ivdep
  for (int64_t i = 0; i < count; ++i)
    x[i] = ((grid[2 * i] + T(1)) * wide - less) / T(2), y[i] = ((grid[2 * i + 1] + T(1)) * high - less) / T(2);
  if (padding)
    keep_inside(x, count, width, padding, align_corners), keep_inside(y, count, height, padding, align_corners);
  // The place of a whole row and column, which may be no number.
  auto index = [=](T r, T c) __attribute__((always_inline)) {
    const bool inside = (r >= T(0)) & (r < T(height)) & (c >= T(0)) & (c < T(width));
    return inside ? int32_t(inside ? r : T(0)) * width + int32_t(inside ? c : T(0)) : -1;
  };
  if (nearest) {
    for (int64_t i = 0; i < count; ++i) taps.at[0][size_t(i)] = index(std::nearbyint(y[i]), std::nearbyint(x[i]));
    return;
  }
  for (int k = 0; k < 4; ++k) {
    int32_t* at = taps.at[k].data();
    T* weight = taps.weight[k].data();
    // right: x - left, otherwise left + 1 - x
    const T right = T(k & 1), below = T(k >> 1), across = T(2) * right - T(1), down = T(2) * below - T(1);
#pragma GCC ivdep
    for (int64_t i = 0; i < count; ++i) {
      const T left = std::floor(x[i]), top = std::floor(y[i]);
      at[i] = index(top + below, left + right);
      weight[i] = (across * (x[i] - left) + (T(1) - right)) * (down * (y[i] - top) + (T(1) - below));
    }
  }
}

// x has a zero at -1, where what lies outside is read.
template <class T> void sample_plane(const T* x, T* y, int64_t n, const Taps<T>& taps) {
  const int32_t *a = taps.at[0].data(), *b = taps.at[1].data(), *c = taps.at[2].data(), *d = taps.at[3].data();
  const T *e = taps.weight[0].data(), *f = taps.weight[1].data(), *g = taps.weight[2].data(),
          *h = taps.weight[3].data();
  for (int64_t i = 0; i < n; ++i) y[i] = (x[a[i]] * e[i] + x[b[i]] * f[i]) + (x[c[i]] * g[i] + x[d[i]] * h[i]);
}

template <class T>
Tensor sampled(const Tensor& self, const Tensor& grid, bool nearest, int padding, bool align_corners) {
  const int64_t batch = self->sizes()[0], channels = self->sizes()[1], height = self->sizes()[2],
                width = self->sizes()[3];
  const int64_t count = grid->sizes()[1] * grid->sizes()[2];
  Tensor out = empty(Dims{batch, channels, grid->sizes()[1], grid->sizes()[2]}, self->dtype(), Device{});
  parallel_for(
      batch, std::max<int64_t>(1, kGrain / std::max<int64_t>(1, channels * count)), [&](int64_t begin, int64_t end) {
        Taps<T> taps;
        const bool few = height * width > 8 * count;  // places: a copy of the plane would take longer
        std::vector<T> padded(nearest || few ? 0 : size_t(height * width + 1));
        for (int k = 0; k < (nearest ? 1 : 4); ++k)
          taps.at[k].resize(size_t(count)), taps.weight[k].resize(size_t(count));
        taps.x.resize(size_t(count)), taps.y.resize(size_t(count));
        for (int64_t b = begin; b < end; ++b) {
          find_taps(grid->data_as<T>() + b * count * 2, count, int32_t(height), int32_t(width), nearest, padding,
              align_corners, taps);
          for (int64_t p = b * channels; p < (b + 1) * channels; ++p) {
            const T* x = self->data_as<T>() + p * height * width;
            T* y = out->data_as<T>() + p * count;
            if (nearest || few) {
              auto value = [&](int k, size_t i) { return taps.at[k][i] < 0 ? T(0) : x[taps.at[k][i]]; };
              for (size_t i = 0; i < size_t(count); ++i) {
                if (nearest)
                  y[i] = value(0, i);
                else
                  y[i] = (value(0, i) * taps.weight[0][i] + value(1, i) * taps.weight[1][i]) +
                         (value(2, i) * taps.weight[2][i] + value(3, i) * taps.weight[3][i]);
              }
            } else {
              std::memcpy(padded.data() + 1, x, size_t(height * width) * sizeof(T));
              sample_plane(padded.data() + 1, y, count, taps);
            }
          }
        }
      });
  return out;
}

template <class T>
void linear_plane(
    const T* x, T* y, int64_t width, const std::vector<Between<T>>& rows, const std::vector<Between<T>>& cols) {
  for (const Between<T>& r : rows) {
    const T *a = x + r.first * width, *b = x + r.second * width;
    const T v = r.weight, u = T(1) - v;
    for (const Between<T>& c : cols)
      *y++ = (a[c.first] * u + b[c.first] * v) * (T(1) - c.weight) + (a[c.second] * u + b[c.second] * v) * c.weight;
  }
}

// Images as planes of elements, or in channels last: one plane each, of lines of channels.
struct Pictures {
  int64_t planes, height, width, line;
  MemoryFormat format;
  explicit Pictures(const Tensor& x) : planes(x->sizes()[0]), height(x->sizes()[2]), width(x->sizes()[3]) {
    const bool lines = !x->is_contiguous();
    line = lines ? x->sizes()[1] : 1, planes *= lines ? 1 : x->sizes()[1];
    format = lines ? MemoryFormat::channels_last : MemoryFormat::contiguous;
  }
};

Tensor at_size(const Tensor& x, int64_t height, int64_t width, MemoryFormat format) {
  return empty(Dims{x->sizes()[0], x->sizes()[1], height, width}, x->dtype(), Device{}, false, format);
}

Tensor nearest_of(const Tensor& self, int64_t height, int64_t width, Scales scales) {
  const Pictures of(self);
  Tensor out = at_size(self, height, width, of.format);  // first: fails where it is too large
  const auto rows = nearest_indices(of.height, height, scales.height),
             cols = nearest_indices(of.width, width, scales.width);
  return of_size<Tensor>(self->itemsize(), [&]<class T>(T) {
    T* const to = static_cast<T*>(out->data());
    const T* const from = static_cast<const T*>(self->data());
    parallel_each(of.planes, height * width * of.line, [&, to, from, height, width](int64_t p) {
      for (int64_t y = 0; y < height; ++y) {
        const T* const row = from + (p * of.height + rows[size_t(y)]) * of.width * of.line;
        T* const line = to + (p * height + y) * width * of.line;
        if (of.line == 1)
          for (int64_t x = 0; x < width; ++x) line[x] = row[cols[size_t(x)]];
        else
          for (int64_t x = 0; x < width; ++x)
            std::memcpy(line + x * of.line, row + cols[size_t(x)] * of.line, size_t(of.line) * sizeof(T));
      }
    });
    return out;
  });
}

template <class T>
SHIM_MATH_CLONES void linear_line(const T* a, const T* b, const T* c, const T* d, T v, T w, T* y, int64_t n) {
  const T u = T(1) - v, z = T(1) - w;
  for (int64_t i = 0; i < n; ++i) y[i] = (a[i] * u + c[i] * v) * z + (b[i] * u + d[i] * v) * w;
}

Tensor linear_of(const Tensor& self, int64_t height, int64_t width, bool align_corners, Scales scales) {
  const Pictures of(self);
  Tensor out = at_size(self, height, width, of.format);
  auto run = [&]<class T>(T) {
    const auto rows = linear_weights<T>(of.height, height, scales.height, align_corners),
               cols = linear_weights<T>(of.width, width, scales.width, align_corners);
    parallel_each(of.planes, 4 * height * width * of.line, [&](int64_t p) {
      const T* x = self->data_as<T>() + p * of.height * of.width * of.line;
      T* y = out->data_as<T>() + p * height * width * of.line;
      if (of.line == 1) return linear_plane(x, y, of.width, rows, cols);
      for (const Between<T>& r : rows) {
        const T *a = x + r.first * of.width * of.line, *b = x + r.second * of.width * of.line;
        for (const Between<T>& c : cols) {
          const int64_t left = c.first * of.line, right = c.second * of.line;
          linear_line(a + left, a + right, b + left, b + right, r.weight, c.weight, y, of.line);
          y += of.line;
        }
      }
    });
    return out;
  };
  return self->dtype() == DType::f32 ? run(float{}) : self->dtype() == DType::f64 ? run(double{}) : Tensor{};
}

// The scale of a place from how many times as large the result is; false where that is no scale.
bool scale_of(const std::optional<double>& times, double* scale) {
  if (times && !(*times > 0)) return false;
  *scale = times ? 1 / *times : 0;
  return true;
}

// f(height, width, scales) of images that there is a kernel for, at the size that is asked for.
template <class F> Outcome<Tensor> resized(const Tensor& x, const Resize& to, F&& f) {
  if (x->dim() != 4 || !x->numel() || !is_plain(x) || !(x->is_contiguous() || lies_in_lines(*x)))
    return NotMine{"images that are neither contiguous nor in channels last, or empty, or without values of their own"};
  if (is_complex(x->dtype()) || (is_integral(x->dtype(), true) && x->dtype() != DType::u8))
    return NotMine{"dtypes that PyTorch has no kernel for"};
  Scales scales;
  if (!scale_of(to.height, &scales.height) || !scale_of(to.width, &scales.width))
    return NotMine{"scales of 0 and less"};
  if (!to.size && !to.height) return NotMine{"neither a size nor scales"};
  const Dims size = to.size
                        ? Dims(to.size->begin(), to.size->end())
                        : Dims{int64_t(double(x->sizes()[2]) * *to.height), int64_t(double(x->sizes()[3]) * *to.width)};
  if (size.size() != 2 || size[0] < 1 || size[1] < 1) return NotMine{"sizes of less than 1"};
  return or_not_mine(unlocked(checked_product({x->sizes()[0], x->sizes()[1], size[0], size[1]}),
                         [&] { return f(size[0], size[1], scales); }),
      "dtypes other than float32 and float64");
}

}  // namespace

Outcome<Tensor> resize_nearest(const Tensor& x, const Resize& to) {
  return resized(
      x, to, [&](int64_t height, int64_t width, Scales scales) { return nearest_of(x, height, width, scales); });
}

Outcome<Tensor> resize_linear(const Tensor& x, const Resize& to, bool align_corners) {
  return resized(x, to,
      [&](int64_t height, int64_t width, Scales scales) { return linear_of(x, height, width, align_corners, scales); });
}

Tensor sample_images(const Tensor& self, const Tensor& grid, bool nearest, int padding, bool align_corners) {
  if (self->dtype() == DType::f32) return sampled<float>(self, grid, nearest, padding, align_corners);
  return self->dtype() == DType::f64 ? sampled<double>(self, grid, nearest, padding, align_corners) : Tensor{};
}

}  // namespace shim
