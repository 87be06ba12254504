// Unfolding images into columns of windows, and folding them back.
#include "cpu/window_columns.h"

#include <algorithm>

#include "cpu/blas.h"
#include "cpu/convolution.h"
#include "cpu/kernel_table.h"
#include "cpu/parallel.h"
#include "ops/kernels.h"

namespace shim {

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

}  // namespace shim
