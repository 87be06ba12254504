// Unfolding images into columns of windows, and folding them back.
#include "cpu/window_columns.h"

#include <algorithm>

#include "cpu/blas.h"
#include "cpu/convolution.h"
#include "cpu/kernel_table.h"
#include "cpu/parallel.h"
#include "cpu/window_settings.h"

namespace shim {
namespace {

constexpr NotMine kNotWide{"dtypes other than float32 and float64, channels_last or empty tensors"};

bool window_of(IntArrayRef kernel, IntArrayRef stride, IntArrayRef padding, IntArrayRef dilation, Window* w) {
  return pair_of(kernel, 2, 1, 1, w->kernel) && pair_of(stride, 2, 1, 1, w->stride) &&
         pair_of(padding, 2, 0, 0, w->padding) && pair_of(dilation, 2, 1, 1, w->dilation);
}

// How many windows stand in an image, height and width; false where there are none.
bool windows_in(const Window& w, int64_t height, int64_t width, int64_t (&many)[2]) {
  for (int i = 0; i < 2; ++i) {
    const int64_t room = (i ? width : height) + 2 * w.padding[i] - w.dilation[i] * (w.kernel[i] - 1) - 1;
    if (room < 0) return false;
    many[i] = room / w.stride[i] + 1;
  }
  return true;
}

Tensor to_window_columns(const Tensor& x, const Window& win, int64_t height, int64_t width) {
  const int64_t batch = x->sizes()[0], channels = x->sizes()[1], rows = channels * win.kernel[0] * win.kernel[1],
                all = height * width;
  const Image im{channels, 1, x->sizes()[2], x->sizes()[3]};
  Tensor out = empty(Dims{batch, rows, all}, x->dtype(), Device{});
  by_dtype(x->dtype(), [&]<class T>(T) {
    parallel_for(batch, std::max<int64_t>(1, kGrain / (rows * all)), [&](int64_t begin, int64_t end) {
      for (int64_t b = begin; b < end; ++b)
        to_columns(x->data_as<T>() + b * channels * im.pixels(), im, Box{win}, {1, height, width}, 0, height,
            out->data_as<T>() + b * rows * all);
    });
  });
  return out;
}

Tensor from_window_columns(const Tensor& columns, const Window& win, int64_t channels, int64_t image_height,
    int64_t image_width, int64_t height, int64_t width) {
  const int64_t batch = columns->sizes()[0], rows = columns->sizes()[1], all = height * width,
                pixels = channels * image_height * image_width;
  Tensor out = empty(Dims{batch, channels, image_height, image_width}, columns->dtype(), Device{});
  by_dtype(columns->dtype(), [&]<class T>(T) {
    parallel_for(batch, std::max<int64_t>(1, kGrain / (rows * all)), [&](int64_t begin, int64_t end) {
      for (int64_t b = begin; b < end; ++b) {
        std::fill_n(out->data_as<T>() + b * pixels, pixels, T(0));
        from_columns(columns->data_as<T>() + b * rows * all, {channels, 1, image_height, image_width}, Box{win},
            {1, height, width}, out->data_as<T>() + b * pixels);
      }
    });
  });
  return out;
}

}  // namespace

Outcome<Tensor> im2col(
    const Tensor& x, IntArrayRef kernel, IntArrayRef dilation, IntArrayRef padding, IntArrayRef stride) {
  Window w;
  int64_t many[2];
  if (!floats_in_order(x) || !wide_float(x) || !x->numel()) return kNotWide;
  if ((x->dim() != 3 && x->dim() != 4) || !window_of(kernel, stride, padding, dilation, &w)) return kUnsuitedWindows;
  const int64_t *sizes = x->sizes_data() + x->dim() - 3, batch = x->dim() == 4 ? x->sizes()[0] : 1;
  if (!windows_in(w, sizes[1], sizes[2], many)) return kUnsuitedWindows;
  const Tensor image = view(*contiguous(x), Dims{batch, sizes[0], sizes[1], sizes[2]});
  const Tensor out =
      unlocked(x->numel() * w.kernel[0] * w.kernel[1], [&] { return to_window_columns(image, w, many[0], many[1]); });
  return x->dim() == 4 ? out : view(*out, Dims{out->sizes()[1], out->sizes()[2]});
}

Outcome<Tensor> col2im(const Tensor& x, IntArrayRef output_size, IntArrayRef kernel, IntArrayRef dilation,
    IntArrayRef padding, IntArrayRef stride) {
  Window w;
  int64_t many[2], size[2] = {};
  if (!floats_in_order(x) || !wide_float(x) || !x->numel()) return kNotWide;
  if ((x->dim() != 2 && x->dim() != 3) || !pair_of(output_size, 2, 1, 1, size) ||
      !window_of(kernel, stride, padding, dilation, &w))
    return kUnsuitedWindows;
  const int64_t *sizes = x->sizes_data() + x->dim() - 2, batch = x->dim() == 3 ? x->sizes()[0] : 1,
                area = w.kernel[0] * w.kernel[1];
  if (!windows_in(w, size[0], size[1], many) || sizes[0] % area || many[0] * many[1] != sizes[1])
    return kUnsuitedWindows;
  const Tensor columns = view(*contiguous(x), Dims{batch, sizes[0], sizes[1]});
  const Tensor out = unlocked(
      x->numel(), [&] { return from_window_columns(columns, w, sizes[0] / area, size[0], size[1], many[0], many[1]); });
  return x->dim() == 3 ? out : view(*out, Dims{out->sizes()[1], size[0], size[1]});
}

}  // namespace shim
