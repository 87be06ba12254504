#pragma once
// Windows of images as the columns of a matrix, for products in the place of convolutions (im2col, col2im).
#include <algorithm>

#include "cpu/convolution.h"
#include "cpu/kernel_table.h"
#include "cpu/parallel.h"
#include "cpu/types.h"

namespace shim {

namespace {

struct Image {  // of one group of one sample
  int64_t channels, depth, height, width;
  int64_t pixels() const { return depth * height * width; }
};
struct Places {  // where windows are; the lines of all depths are counted through
  int64_t depth, height, width;
  int64_t lines() const { return depth * height; }
  int64_t count() const { return lines() * width; }
};
inline Image image_of(const Tensor& t, int64_t channels) {
  return {channels, t->sizes()[2], t->sizes()[3], t->sizes()[4]};
}
inline Places places_of(const Tensor& t) { return {t->sizes()[2], t->sizes()[3], t->sizes()[4]}; }
inline int64_t taps_of(const Box& w) { return w.depth_kernel * w.kernel[0] * w.kernel[1]; }
// Where a tap looks from the place of its window.
struct Offset {
  int64_t depth, height, width;
};
inline Offset offset_of(const Box& w, int64_t tap) {
  const int64_t line = tap / w.kernel[1];
  return {line / w.kernel[0] * w.depth_dilation - w.depth_padding, line % w.kernel[0] * w.dilation[0] - w.padding[0],
      tap % w.kernel[1] * w.dilation[1] - w.padding[1]};
}

// Where windows along one dim, `count` of them, stay inside `size` for a tap at `offset`: [first, last).
struct Range {
  int64_t first, last;
};
inline Range inside(int64_t offset, int64_t stride, int64_t size, int64_t count) {
  const int64_t first = offset >= 0 ? 0 : std::min(count, (-offset + stride - 1) / stride);
  const int64_t last = offset >= size ? 0 : std::min(count, (size - 1 - offset) / stride + 1);
  return {first, std::max(first, last)};
}

// Lines [begin, end) of the places, as a matrix (channels * kernel, places): row-major.
template <class T>
void to_columns(const T* x, Image im, const Box& w, Places at, int64_t begin, int64_t end, T* columns) {
  const int64_t taps = taps_of(w), step = (end - begin) * at.width;
  for (int64_t row = 0; row < im.channels * taps; ++row) {
    const Offset o = offset_of(w, row % taps);
    const int64_t c = row / taps, dx = o.width;
    const Range cols = inside(dx, w.stride[1], im.width, at.width);
    T* to = columns + row * step;
    for (int64_t r = begin; r < end; ++r, to += at.width) {
      const int64_t z = r / at.height * w.depth_stride + o.depth, y = r % at.height * w.stride[0] + o.height;
      if (z < 0 || z >= im.depth || y < 0 || y >= im.height) {
        std::fill_n(to, at.width, T(0));
        continue;
      }
      const T* from = x + ((c * im.depth + z) * im.height + y) * im.width + dx;
      std::fill_n(to, cols.first, T(0));
      if (w.stride[1] == 1)
        std::copy(from + cols.first, from + cols.last, to + cols.first);
      else
        for (int64_t i = cols.first; i < cols.last; ++i) to[i] = from[i * w.stride[1]];
      std::fill_n(to + cols.last, at.width - cols.last, T(0));
    }
  }
}

// The other way: every window's elements are added to their pixels.
template <class T> void from_columns(const T* columns, Image im, const Box& w, Places at, T* x) {
  const int64_t taps = taps_of(w);
  for (int64_t row = 0; row < im.channels * taps; ++row) {
    const Offset o = offset_of(w, row % taps);
    const int64_t c = row / taps, dx = o.width;
    const Range cols = inside(dx, w.stride[1], im.width, at.width);
    for (int64_t r = 0; r < at.lines(); ++r) {
      const int64_t z = r / at.height * w.depth_stride + o.depth, y = r % at.height * w.stride[0] + o.height;
      if (z < 0 || z >= im.depth || y < 0 || y >= im.height) continue;
      const T* from = columns + (row * at.lines() + r) * at.width;
      T* to = x + ((c * im.depth + z) * im.height + y) * im.width + dx;
      if (w.stride[1] == 1)
        for (int64_t i = cols.first; i < cols.last; ++i) to[i] += from[i];
      else
        for (int64_t i = cols.first; i < cols.last; ++i) to[i * w.stride[1]] += from[i];
    }
  }
}

template <class T> const T* data_or_null(const Tensor& t) { return t ? t->data_as<T>() : nullptr; }

}  // namespace

}  // namespace shim
