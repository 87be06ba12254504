#include "cpu/convolution.h"

#include <algorithm>

#include "cpu/blas.h"
#include "cpu/depthwise.h"
#include "cpu/direct_convolution.h"
#include "cpu/kernel_table.h"
#include "cpu/parallel.h"
#include "cpu/window_columns.h"
#include "ops/kernels.h"

namespace shim {

namespace {

constexpr int64_t kColumns = 32768;  // elements of windows at a time, about what a core's cache holds
constexpr int64_t kParts = 8;        // sums over the batch: their number does not depend on the threads

// Whether each window is the pixel at its own place. (Images are larger than the places where a transposed convolution was given an
// output padding: its roles are changed in the gradient by the weight.)
bool pointwise(const Box& w, const Image& im, const Places& at) {
  bool all = w.depth_kernel == 1 && w.depth_stride == 1 && w.depth_padding == 0 && im.depth == at.depth &&
             im.height == at.height && im.width == at.width;
  for (int i = 0; i < 2; ++i) all = all && w.kernel[i] == 1 && w.stride[i] == 1 && w.padding[i] == 0;
  return all;
}

template <class T> SHIM_MATH_CLONES void add_scaled(T* to, const T* from, T by, int64_t n, int64_t step) {
  if (step == 1)
    for (int64_t i = 0; i < n; ++i) to[i] += by * from[i];
  else
    for (int64_t i = 0; i < n; ++i) to[i] += by * from[i * step];
}
template <class T> SHIM_MATH_CLONES void spread_scaled(T* to, const T* from, T by, int64_t n, int64_t step) {
  if (step == 1)
    for (int64_t i = 0; i < n; ++i) to[i] += by * from[i];
  else
    for (int64_t i = 0; i < n; ++i) to[i * step] += by * from[i];
}
template <class T> SHIM_MATH_CLONES T product_sum(const T* a, const T* b, int64_t n, int64_t step) {
  T lanes[16] = {};
  int64_t i = 0;
  if (step == 1)
    for (; i + 16 <= n; i += 16)
      for (int k = 0; k < 16; ++k) lanes[k] += a[i + k] * b[i + k];
  for (; i < n; ++i) lanes[i % 16] += a[i] * b[i * step];
  T sum = 0;
  for (T l : lanes) sum += l;
  return sum;
}

// f(line of places, line of pixels, places of it, tap) for every line that a window of one channel reads.
template <class F> void each_line(Image im, const Box& w, Places at, F&& f) {
  for (int64_t tap = 0; tap < taps_of(w); ++tap) {
    const Offset o = offset_of(w, tap);
    const Range cols = inside(o.width, w.stride[1], im.width, at.width),
                rows = inside(o.height, w.stride[0], im.height, at.height);
    const Range depths = inside(o.depth, w.depth_stride, im.depth, at.depth);
    if (cols.first == cols.last) continue;
    for (int64_t z = depths.first; z < depths.last; ++z)
      for (int64_t r = rows.first; r < rows.last; ++r)
        f((z * at.height + r) * at.width + cols.first,
            ((z * w.depth_stride + o.depth) * im.height + r * w.stride[0] + o.height) * im.width + o.width +
                cols.first * w.stride[1],
            cols.last - cols.first, tap);
  }
}

// Images of few places, all in one product: alone each would be less than a tile of it, and would have the weights read again.
constexpr int64_t kFewPlaces = 32, kOutputs = 64;
template <class T>
void forward_together(const Tensor& x, const Tensor& w, const T* bias, const Box& win, const Tensor& out) {
  const int64_t batch = x->sizes()[0], in = x->sizes()[1], outs = out->sizes()[1];
  const Image im = image_of(x, in);
  const Places at = places_of(out);
  const int64_t taps = in * taps_of(win), all = at.count(), pixels = im.pixels(), n = batch * all;
  const T *from = x->data_as<T>(), *weights = w->data_as<T>();
  T* to = out->data_as<T>();
  std::vector<T> columns(static_cast<size_t>(taps * n));
  parallel_for(batch, std::max<int64_t>(1, kGrain / (taps * all)), [&](int64_t begin, int64_t end) {
    std::vector<T> one(static_cast<size_t>(taps * all));
    for (int64_t b = begin; b < end; ++b) {
      to_columns(from + b * in * pixels, im, win, at, 0, at.lines(), one.data());
      for (int64_t t = 0; t < taps; ++t) std::copy_n(one.data() + t * all, all, columns.data() + t * n + b * all);
    }
  });
  gemm::OneThread alone;
  const int64_t pieces = (outs + kOutputs - 1) / kOutputs;
  parallel_for(pieces, std::max<int64_t>(1, kGrain / (taps * kOutputs)), [&](int64_t begin, int64_t end) {
    const int64_t first = begin * kOutputs, count = std::min(outs, end * kOutputs) - first;
    std::vector<T> made(static_cast<size_t>(count * n));
    gemm::multiply<T>(
        false, false, n, count, taps, columns.data(), n, weights + first * taps, taps, T(0), made.data(), n);
    for (int64_t o = 0; o < count; ++o)
      for (int64_t b = 0; b < batch; ++b)
        for (int64_t i = 0; i < all; ++i)
          to[(b * outs + first + o) * all + i] = made[size_t(o * n + b * all + i)] + (bias ? bias[first + o] : T(0));
  });
}

template <class T>
void forward(const Tensor& x, const Tensor& w, const T* bias, const Box& win, int64_t groups, const Tensor& out) {
  const int64_t batch = x->sizes()[0], in = x->sizes()[1] / groups, outs = out->sizes()[1] / groups;
  const Image im = image_of(x, in);
  const Places at = places_of(out);
  const int64_t taps = in * taps_of(win), all = at.count(), pixels = im.pixels();
  const T *from = x->data_as<T>(), *weights = w->data_as<T>();
  T* to = out->data_as<T>();
  if (in == 1) {  // a product of one column is no product
    parallel_for(batch * groups * outs, std::max<int64_t>(1, kGrain / (taps * all)), [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t o = i % (groups * outs), plane = i / outs;
        T* line = to + i * all;
        std::fill_n(line, all, bias ? bias[o] : T(0));
        each_line(im, win, at, [&](int64_t place, int64_t pixel, int64_t n, int64_t tap) {
          add_scaled(line + place, from + plane * pixels + pixel, weights[o * taps + tap], n, win.stride[1]);
        });
      }
    });
    return;
  }
  if (groups == 1 && batch > 1 && all <= kFewPlaces) return forward_together<T>(x, w, bias, win, out);
  const bool plain = pointwise(win, im, at);
  const int64_t lines = plain ? at.lines()
                              : std::clamp<int64_t>(kColumns / std::max<int64_t>(1, taps * at.width), 1, at.lines()),
                tiles = (at.lines() + lines - 1) / lines;
  gemm::OneThread alone;
  parallel_for(batch * groups * tiles, std::max<int64_t>(1, kGrain / (taps * outs * lines * at.width)),
      [&](int64_t begin, int64_t end) {
        std::vector<T> columns(plain ? 0 : size_t(taps * lines * at.width));
        for (int64_t i = begin; i < end; ++i) {
          const int64_t part = i / tiles, g = part % groups, first = i % tiles * lines,
                        last = std::min(at.lines(), first + lines), n = (last - first) * at.width;
          const T* image = from + part * in * pixels;
          T* rows = to + part * outs * all + first * at.width;
          if (!plain) to_columns(image, im, win, at, first, last, columns.data());
          for (int64_t o = 0; bias && o < outs; ++o) std::fill_n(rows + o * all, n, bias[g * outs + o]);
          gemm::multiply<T>(false, false, n, outs, taps, plain ? image + first * at.width : columns.data(),
              plain ? pixels : n, weights + g * outs * taps, taps, bias ? T(1) : T(0), rows, all);
        }
      });
}

template <class T>
void transposed(const Tensor& x, const Tensor& w, const T* bias, const Box& win, int64_t groups, const Tensor& out) {
  const int64_t batch = x->sizes()[0], in = x->sizes()[1] / groups, outs = out->sizes()[1] / groups;
  const Image im = image_of(out, outs);
  const Places at = places_of(x);
  const int64_t taps = outs * taps_of(win), all = at.count(), pixels = im.pixels();
  const T *from = x->data_as<T>(), *weights = w->data_as<T>();
  T* to = out->data_as<T>();
  gemm::OneThread alone;
  parallel_for(batch * groups, std::max<int64_t>(1, kGrain / (taps * in * all)), [&](int64_t begin, int64_t end) {
    std::vector<T> columns(in == 1 ? 0 : size_t(taps * all));
    for (int64_t i = begin; i < end; ++i) {
      const int64_t g = i % groups;
      T* image = to + i * outs * pixels;
      for (int64_t o = 0; o < outs; ++o) std::fill_n(image + o * pixels, pixels, bias ? bias[g * outs + o] : T(0));
      if (in == 1) {
        const int64_t kernel = taps_of(win);
        for (int64_t o = 0; o < outs; ++o)
          each_line(im, win, at, [&](int64_t place, int64_t pixel, int64_t n, int64_t tap) {
            spread_scaled(image + o * pixels + pixel, from + i * all + place, weights[(g * outs + o) * kernel + tap], n,
                win.stride[1]);
          });
        continue;
      }
      gemm::multiply<T>(false, true, all, taps, in, from + i * in * all, all, weights + g * in * taps, taps, T(0),
          columns.data(), all);
      from_columns(columns.data(), im, win, at, image);
    }
  });
}

template <class T>
void weight_gradient(const Tensor& x, const Tensor& g, const Box& win, int64_t groups, const Tensor& out) {
  const int64_t batch = x->sizes()[0], in = x->sizes()[1] / groups, outs = g->sizes()[1] / groups;
  const Image im = image_of(x, in);
  const Places at = places_of(g);
  const int64_t taps = in * taps_of(win), all = at.count(), pixels = im.pixels(), size = out->numel();
  const T *from = x->data_as<T>(), *slopes = g->data_as<T>();
  const int64_t parts = std::min(batch, kParts);
  std::vector<T> partial(size_t(parts * size), T(0));
  const bool plain = pointwise(win, im, at);
  gemm::OneThread alone;
  parallel_for(parts * groups, 1, [&](int64_t begin, int64_t end) {
    std::vector<T> columns(plain || in == 1 ? 0 : size_t(taps * all));
    for (int64_t i = begin; i < end; ++i) {
      const int64_t p = i / groups, group = i % groups;
      T* sums = partial.data() + p * size + group * outs * taps;
      for (int64_t b = batch * p / parts; b < batch * (p + 1) / parts; ++b) {
        const T *image = from + (b * groups + group) * in * pixels, *slope = slopes + (b * groups + group) * outs * all;
        if (in == 1) {
          for (int64_t o = 0; o < outs; ++o)
            each_line(im, win, at, [&](int64_t place, int64_t pixel, int64_t n, int64_t tap) {
              sums[o * taps + tap] += product_sum(slope + o * all + place, image + pixel, n, win.stride[1]);
            });
          continue;
        }
        if (!plain) to_columns(image, im, win, at, 0, at.lines(), columns.data());
        gemm::multiply<T>(
            true, false, taps, outs, all, plain ? image : columns.data(), all, slope, all, T(1), sums, taps);
      }
    }
  });
  T* to = out->data_as<T>();
  for (int64_t p = 0; p < parts; ++p)
    for (int64_t i = 0; i < size; ++i) to[i] = p ? to[i] + partial[size_t(p * size + i)] : partial[size_t(i)];
}

}  // namespace

Tensor convolve(const Tensor& x, const Tensor& w, const Tensor& bias, const Box& win, int64_t groups,
    const int64_t (&out_sizes)[3]) {
  Tensor out =
      empty(Dims{x->sizes()[0], w->sizes()[0], out_sizes[0], out_sizes[1], out_sizes[2]}, x->dtype(), Device{});
  if (convolve_depthwise(x, w, bias, win, groups, out)) return out;
  if (convolve_directly(x, w, bias, win, groups, out)) return out;
  by_dtype(x->dtype(), [&]<class T>(T) { forward<T>(x, w, data_or_null<T>(bias), win, groups, out); });
  return out;
}

Tensor convolve_transposed(const Tensor& x, const Tensor& w, const Tensor& bias, const Box& win, int64_t groups,
    const int64_t (&out_sizes)[3]) {
  Tensor out = empty(
      Dims{x->sizes()[0], w->sizes()[1] * groups, out_sizes[0], out_sizes[1], out_sizes[2]}, x->dtype(), Device{});
  if (convolve_transposed_depthwise(x, w, bias, win, groups, out)) return out;
  if (convolve_transposed_directly(x, w, bias, win, groups, out)) return out;
  by_dtype(x->dtype(), [&]<class T>(T) { transposed<T>(x, w, data_or_null<T>(bias), win, groups, out); });
  return out;
}

Tensor convolution_weight(const Tensor& x, const Tensor& g, const Box& win, int64_t groups) {
  Tensor out = empty(Dims{g->sizes()[1], x->sizes()[1] / groups, win.depth_kernel, win.kernel[0], win.kernel[1]},
      x->dtype(), Device{});
  if (convolution_weight_depthwise(x, g, win, groups, out)) return out;
  if (convolution_weight_directly(x, g, win, groups, out)) return out;
  by_dtype(x->dtype(), [&]<class T>(T) { weight_gradient<T>(x, g, win, groups, out); });
  return out;
}

}  // namespace shim
