#include "cpu/pooling.h"

#include <algorithm>
#include <limits>
#include <vector>

#include "core/interpreter_lock.h"
#include "cpu/kernel_table.h"
#include "cpu/parallel.h"
#include "cpu/pool_spans.h"
#include "cpu/window_settings.h"

namespace shim {
namespace {

// best[c] = the greater of it and x[c * step], a NaN being greater than all; at[c], negative where nothing was seen, says where it is.
template <class T, int fixed_step>
SHIM_MATH_CLONES void keep_greater(
    const T* x, int64_t given_step, int64_t n, PlaceIn<T> first, T* best, PlaceIn<T>* at) {
  const int64_t step = fixed_step ? fixed_step : given_step;
  for (int64_t c = 0; c < n; ++c) {
    const T v = x[c * step], old = best[c];
    const bool wins = (v > old) | (v != v) | (at[c] < 0);
    best[c] = wins ? v : old;
    at[c] = wins ? PlaceIn<T>(first + PlaceIn<T>(c) * PlaceIn<T>(step)) : at[c];
  }
}

template <class T>
void max_plane(
    const T* x, int64_t height, int64_t width, const Window& w, int64_t rows, int64_t cols, T* y, int64_t* indices) {
  const int64_t step = w.stride[1];
  const auto keep = step == 1 ? keep_greater<T, 1> : step == 2 ? keep_greater<T, 2> : keep_greater<T, 0>;
  std::vector<PlaceIn<T>> at(static_cast<size_t>(cols));
  for (int64_t r = 0; r < rows; ++r, y += cols, indices += cols) {
    std::fill_n(y, cols, -std::numeric_limits<T>::infinity());
    std::ranges::fill(at, PlaceIn<T>(-1));
    for (int64_t i = 0; i < w.kernel[0]; ++i) {
      const int64_t h = r * w.stride[0] - w.padding[0] + i * w.dilation[0];
      if (h < 0 || h >= height) continue;
      for (int64_t j = 0; j < w.kernel[1]; ++j) {
        const int64_t left = j * w.dilation[1] - w.padding[1];
        const int64_t first = left >= 0 ? 0 : (-left + step - 1) / step,
                      last = left >= width ? 0 : std::min(cols, (width - 1 - left) / step + 1);
        const int64_t from = h * width + left + first * step;
        if (first < last) keep(x + from, step, last - first, PlaceIn<T>(from), y + first, at.data() + first);
      }
    }
    std::ranges::copy(at, indices);
  }
}

// f(place, rows, columns, divisor) for every window.
template <class F> void each_window(const Spans& rows, const Spans& cols, int64_t divisor, F&& f) {
  int64_t place = 0;
  for (const BoxSpan& v : rows)
    for (const BoxSpan& h : cols) f(place++, v, h, divisor ? divisor : v.counted * h.counted);
}

Tensor max_planes(const Tensor& x, const Window& w, int64_t height, int64_t width, Tensor* indices) {
  const int64_t planes = x->sizes()[0], h = x->sizes()[1], v = x->sizes()[2];
  Tensor out = empty(Dims{planes, height, width}, x->dtype(), Device{});
  *indices = empty(Dims{planes, height, width}, DType::i64, Device{});
  by_dtype(x->dtype(), [&]<class T>(T) {
    parallel_each(planes, height * width * w.kernel[0] * w.kernel[1], [&](int64_t p) {
      max_plane(x->data_as<T>() + p * h * v, h, v, w, height, width, out->data_as<T>() + p * height * width,
          (*indices)->data_as<int64_t>() + p * height * width);
    });
  });
  return out;
}

// How many elements the windows of a plane have, about.
int64_t work_of(const Window& w, const Spans& rows, const Spans& cols) {
  return int64_t(rows.size() * cols.size()) * w.kernel[0] * w.kernel[1];
}

Tensor mean_planes(const Tensor& x, const Window& w, const Spans& rows, const Spans& cols, int64_t divisor) {
  const int64_t planes = x->sizes()[0], h = x->sizes()[1], v = x->sizes()[2];
  const auto height = int64_t(rows.size()), width = int64_t(cols.size());
  Tensor out = empty(Dims{planes, height, width}, x->dtype(), Device{});
  by_dtype(x->dtype(), [&]<class T>(T) {
    parallel_each(planes, work_of(w, rows, cols), [&](int64_t p) {
      const T* from = x->data_as<T>() + p * h * v;
      T* to = out->data_as<T>() + p * height * width;
      each_window(rows, cols, divisor, [&](int64_t place, const BoxSpan& r, const BoxSpan& c, int64_t count) {
        T sum = 0;
        for (int64_t i = r.first; i < r.last; ++i)
          for (int64_t j = c.first; j < c.last; ++j) sum += from[i * v + j];
        to[place] = sum / T(count);
      });
    });
  });
  return out;
}

Tensor mean_planes_backward(const Tensor& g, const Window& w, const Spans& rows, const Spans& cols, int64_t divisor,
    int64_t height, int64_t width) {
  const int64_t planes = g->sizes()[0], h = g->sizes()[1], v = g->sizes()[2];
  Tensor out = empty(Dims{planes, height, width}, g->dtype(), Device{});
  by_dtype(g->dtype(), [&]<class T>(T) {
    parallel_each(planes, work_of(w, rows, cols), [&](int64_t p) {
      const T* from = g->data_as<T>() + p * h * v;
      T* to = out->data_as<T>() + p * height * width;
      std::fill_n(to, height * width, T(0));
      each_window(rows, cols, divisor, [&](int64_t place, const BoxSpan& r, const BoxSpan& c, int64_t count) {
        const T part = from[place] / T(count);
        for (int64_t i = r.first; i < r.last; ++i)
          for (int64_t j = c.first; j < c.last; ++j) to[i * width + j] += part;
      });
    });
  });
  return out;
}

// Where windows lie along a dim, `many` of them over `size` places.
Spans spans_along(int d, const Window& w, int64_t size, int64_t many, bool include_pad) {
  return spans_of_windows(size, many, w.kernel[d], w.stride[d], w.padding[d], w.dilation[d], include_pad);
}

// A pool's windows over the last n dims, and what they are of.
struct PoolOfPlanes {
  Window window;
  Tensor planes;  // of the compute dtype; images in channels last stay what they are
  bool lines = false;
  int64_t sizes[2];
  Dims shape;  // of the result
};

// False where the record has to say what is wrong with the settings.
bool pool_of(const Tensor& x, int n, IntArrayRef kernel, IntArrayRef stride, IntArrayRef padding, IntArrayRef dilation,
    bool ceil_mode, PoolOfPlanes* p) {
  if (x->dim() < n + 1 || x->dim() > n + 2 || !x->numel()) return false;
  Window& w = p->window;
  if (!pair_of(kernel, n, 1, 1, w.kernel) || !pair_of(padding, n, 0, 0, w.padding) ||
      !pair_of(dilation, n, 1, 1, w.dilation))
    return false;
  if (stride.empty())
    w.stride[0] = w.kernel[0], w.stride[1] = w.kernel[1];
  else if (!pair_of(stride, n, 1, 1, w.stride))
    return false;
  p->shape.assign(x->sizes().begin(), x->sizes().end());
  for (int i = 0; i < 2; ++i) {
    if (w.padding[i] > ((w.kernel[i] - 1) * w.dilation[i] + 1) / 2) return false;
    const int64_t size = i == 0 && n == 1 ? 1 : x->sizes()[size_t(x->dim() - 2 + i)],
                  room = size + 2 * w.padding[i] - w.dilation[i] * (w.kernel[i] - 1) - 1;
    if (room < 0) return false;
    p->sizes[i] = (ceil_mode ? (room + w.stride[i] - 1) / w.stride[i] : room / w.stride[i]) + 1;
    if (ceil_mode && (p->sizes[i] - 1) * w.stride[i] >= size + w.padding[i]) --p->sizes[i];
    if (p->sizes[i] < 1) return false;
    if (i == 1 || n == 2) p->shape[p->shape.size() - 2 + size_t(i)] = p->sizes[i];
  }
  if (Tensor images = n == 2 ? in_lines(x, compute_dtype(x->dtype())) : Tensor{}) {
    p->lines = true, p->planes = std::move(images);
    return true;
  }
  const int64_t width = x->sizes().back(), height = n == 1 ? 1 : x->sizes()[size_t(x->dim() - 2)];
  p->planes = view(*contiguous_of(x, compute_dtype(x->dtype())), Dims{x->numel() / (width * height), height, width});
  return true;
}

}  // namespace

template <int n>
Outcome<ValuesAndIndices> max_pool_with_indices(const Tensor& x, IntArrayRef kernel, IntArrayRef stride,
    IntArrayRef padding, IntArrayRef dilation, bool ceil_mode) {
  PoolOfPlanes p;
  if (!floats_of_planes(x)) return kChannelsLastOrNoFloats;
  if (!pool_of(x, n, kernel, stride, padding, dilation, ceil_mode, &p)) return kUnsuitedWindows;
  const Unlocked others_run;
  if (p.lines) {
    const Spans rows = spans_along(0, p.window, x->sizes()[2], p.sizes[0], false),
                cols = spans_along(1, p.window, x->sizes()[3], p.sizes[1], false);
    Tensor places, best = max_of_lines(p.planes, rows, cols, p.window.dilation, &places);
    return ValuesAndIndices{of_dtype(best, x->dtype()), std::move(places)};
  }
  Tensor indices, out = max_planes(p.planes, p.window, p.sizes[0], p.sizes[1], &indices);
  return ValuesAndIndices{
      in_format_of(x, of_dtype(view(*out, p.shape), x->dtype())), in_format_of(x, view(*indices, p.shape))};
}
template Outcome<ValuesAndIndices> max_pool_with_indices<1>(
    const Tensor&, IntArrayRef, IntArrayRef, IntArrayRef, IntArrayRef, bool);
template Outcome<ValuesAndIndices> max_pool_with_indices<2>(
    const Tensor&, IntArrayRef, IntArrayRef, IntArrayRef, IntArrayRef, bool);

template <int n>
Outcome<Tensor> mean_pool(const Tensor& x, IntArrayRef kernel, IntArrayRef stride, IntArrayRef padding, bool ceil_mode,
    bool include_pad, int64_t divisor) {
  const Dims dilation{1};
  PoolOfPlanes p;
  if (!floats_of_planes(x)) return kChannelsLastOrNoFloats;
  if (!pool_of(x, n, kernel, stride, padding, dilation, ceil_mode, &p)) return kUnsuitedWindows;
  const IntArrayRef sizes = p.planes->sizes();
  const Spans rows = spans_along(0, p.window, sizes[sizes.size() - 2], p.sizes[0], include_pad),
              cols = spans_along(1, p.window, sizes.back(), p.sizes[1], include_pad);
  if (p.lines) return of_dtype(mean_of_lines(p.planes, rows, cols, divisor), x->dtype());
  const Tensor out = mean_planes(p.planes, p.window, rows, cols, divisor);
  return in_format_of(x, of_dtype(view(*out, p.shape), x->dtype()));
}
template Outcome<Tensor> mean_pool<1>(const Tensor&, IntArrayRef, IntArrayRef, IntArrayRef, bool, bool, int64_t);
template Outcome<Tensor> mean_pool<2>(const Tensor&, IntArrayRef, IntArrayRef, IntArrayRef, bool, bool, int64_t);

Outcome<Tensor> mean_pool_backward(const Tensor& g, IntArrayRef size, IntArrayRef kernel, IntArrayRef stride,
    IntArrayRef padding, bool include_pad, int64_t divisor) {
  Window w{};
  int64_t sizes[2] = {};
  if (!floats_of_planes(g)) return kChannelsLastOrNoFloats;
  if (g->dim() < 3 || !g->numel() || !pair_of(size, 2, 1, 1, sizes) || !pair_of(kernel, 2, 1, 1, w.kernel) ||
      !pair_of(stride, 2, 1, 1, w.stride) || !pair_of(padding, 2, 0, 0, w.padding))
    return kUnsuitedWindows;
  Dims shape(g->sizes().begin(), g->sizes().end());
  const int64_t h = shape[shape.size() - 2], v = shape.back();
  w.dilation[0] = w.dilation[1] = 1;
  const Spans rows = spans_along(0, w, sizes[0], h, include_pad), cols = spans_along(1, w, sizes[1], v, include_pad);
  if (const Tensor images = in_lines(g, compute_dtype(g->dtype())))
    return of_dtype(mean_of_lines_backward(images, rows, cols, divisor, sizes[0], sizes[1]), g->dtype());
  shape[shape.size() - 2] = sizes[0], shape.back() = sizes[1];
  const Tensor planes = view(*contiguous_of(g, compute_dtype(g->dtype())), Dims{g->numel() / (h * v), h, v});
  const Tensor out = mean_planes_backward(planes, w, rows, cols, divisor, sizes[0], sizes[1]);
  return of_dtype(view(*out, shape), g->dtype());
}

}  // namespace shim
