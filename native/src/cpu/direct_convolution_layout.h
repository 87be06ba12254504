#pragma once
// How a direct convolution lays its images out: what its taps read, as planes and shifts in them.
#include <algorithm>
#include <cstdlib>
#include <memory>
#include <new>
#include <vector>

#include "cpu/convolution.h"
#include "cpu/parallel.h"
#include "ops/kernels.h"

namespace shim {

namespace {

// Elements on a cache line's start, not initialised.
template <class T> struct Scratch {
  explicit Scratch(int64_t n)
      : size(size_t(n)), data(static_cast<T*>(std::aligned_alloc(64, (size * sizeof(T) + 63) / 64 * 64))) {
    if (!data) throw std::bad_alloc();
  }
  T* begin() { return data.get(); }
  T* end() { return data.get() + size; }
  struct Free {
    void operator()(void* p) const { std::free(p); }
  };
  size_t size;
  std::unique_ptr<T, Free> data;
};

// One dim of a convolution: what its windows' elements read, as a plane of the image (its places by remainder) and a shift in it.
struct Reach {
  int64_t tap, plane, shift;
};
struct Line {
  int64_t stride = 1;           // of the image's elements that stand in one plane
  int64_t low = 0, extent = 0;  // a plane's element i is the image's (i + low) * stride + plane
  int64_t image = 0;
  int64_t step = 1;  // results stand at first + i * step, first < step
  int64_t result = 0;
  std::vector<std::vector<Reach>> reaches;  // by first
  int64_t count(int64_t first) const { return first < result ? (result - first + step - 1) / step : 0; }
  int64_t planes() const { return stride; }
};

inline int64_t floor_of(int64_t a, int64_t b) { return a >= 0 ? a / b : -((-a + b - 1) / b); }

inline void bound(Line& l) {
  int64_t low = INT64_MAX, high = INT64_MIN;
  for (size_t first = 0; first < l.reaches.size(); ++first)
    for (const Reach& r : l.reaches[first]) {
      low = std::min(low, r.shift);
      high = std::max(high, r.shift + l.count(int64_t(first)));
    }
  l.low = low == INT64_MAX ? 0 : low;
  l.extent = low == INT64_MAX ? 1 : high - low;
  for (size_t first = 0; first < l.reaches.size(); ++first)
    l.extent = std::max(l.extent, l.count(int64_t(first)));  // those without taps too
}

inline Line forward_line(
    int64_t image, int64_t places, int64_t kernel, int64_t stride, int64_t padding, int64_t dilation) {
  Line l{stride, 0, 0, image, 1, places, {}};
  l.reaches.assign(1, {});
  for (int64_t k = 0; k < kernel; ++k) {
    const int64_t at = k * dilation - padding, shift = floor_of(at, stride);
    l.reaches[0].push_back({k, at - shift * stride, shift});
  }
  bound(l);
  return l;
}

// Of the transposed convolution: `result` elements are made of `places` windows.
inline Line transposed_line(
    int64_t places, int64_t result, int64_t kernel, int64_t stride, int64_t padding, int64_t dilation) {
  Line l{1, 0, 0, places, stride, result, {}};
  l.reaches.assign(size_t(stride), {});
  for (int64_t first = 0; first < stride; ++first)
    for (int64_t k = 0; k < kernel; ++k) {
      const int64_t at = first + padding - k * dilation, shift = floor_of(at, stride);
      if (shift * stride == at) l.reaches[size_t(first)].push_back({k, 0, shift});
    }
  bound(l);
  return l;
}

struct Shape {
  Line lines[3];  // depth, height, width
  int64_t kernel[3];
  int64_t taps() const { return kernel[0] * kernel[1] * kernel[2]; }
  int64_t plane() const { return lines[0].extent * lines[1].extent * lines[2].extent; }
  int64_t planes() const { return lines[0].planes() * lines[1].planes() * lines[2].planes(); }
  int64_t image() const { return lines[0].image * lines[1].image * lines[2].image; }
  int64_t result() const { return lines[0].result * lines[1].result * lines[2].result; }
  bool small() const {  // places are most of what is laid out
    int64_t of = 1, all = 1;
    for (const Line& l : lines) of *= l.count(0), all *= l.extent;
    return all <= 3 * of;
  }
};

// x and places (batch, channels, depth, height, width).
inline Shape forward_shape(const Tensor& x, const Box& w, const Tensor& places) {
  const auto of = [&](size_t i) { return x->sizes()[i]; };
  const auto to = [&](size_t i) { return places->sizes()[i]; };
  return {{forward_line(of(2), to(2), w.depth_kernel, w.depth_stride, w.depth_padding, w.depth_dilation),
              forward_line(of(3), to(3), w.kernel[0], w.stride[0], w.padding[0], w.dilation[0]),
              forward_line(of(4), to(4), w.kernel[1], w.stride[1], w.padding[1], w.dilation[1])},
      {w.depth_kernel, w.kernel[0], w.kernel[1]}};
}
inline Shape transposed_shape(const Tensor& x, const Box& w, const Tensor& places) {
  const auto of = [&](size_t i) { return x->sizes()[i]; };
  const auto to = [&](size_t i) { return places->sizes()[i]; };
  return {{transposed_line(of(2), to(2), w.depth_kernel, w.depth_stride, w.depth_padding, w.depth_dilation),
              transposed_line(of(3), to(3), w.kernel[0], w.stride[0], w.padding[0], w.dilation[0]),
              transposed_line(of(4), to(4), w.kernel[1], w.stride[1], w.padding[1], w.dilation[1])},
      {w.depth_kernel, w.kernel[0], w.kernel[1]}};
}

// Results of one remainder by the steps: the taps they have, and where those read in a channel's planes of `samples` images.
struct Part {
  int64_t first[3], count[3];
  std::vector<int64_t> taps, offsets;
};

inline Part part_of(const Shape& s, int64_t number, int64_t samples) {
  Part p;
  const Line &d = s.lines[0], &h = s.lines[1], &w = s.lines[2];
  p.first[2] = number % w.step, p.first[1] = number / w.step % h.step, p.first[0] = number / w.step / h.step;
  for (int i = 0; i < 3; ++i) p.count[i] = s.lines[i].count(p.first[i]);
  for (const Reach& a : d.reaches[size_t(p.first[0])])
    for (const Reach& b : h.reaches[size_t(p.first[1])])
      for (const Reach& c : w.reaches[size_t(p.first[2])]) {
        const int64_t plane = (a.plane * h.planes() + b.plane) * w.planes() + c.plane;
        p.taps.push_back((a.tap * s.kernel[1] + b.tap) * s.kernel[2] + c.tap);
        p.offsets.push_back(plane * samples * s.plane() + ((a.shift - d.low) * h.extent + b.shift - h.low) * w.extent +
                            c.shift - w.low);
      }
  return p;
}

// One plane of an image: its elements of one remainder by the strides, with zeros beside them.
template <class T> void lay_out(const T* image, const Shape& s, int64_t number, T* to) {
  const Line &d = s.lines[0], &h = s.lines[1], &w = s.lines[2];
  const int64_t x0 = number % w.planes(), y0 = number / w.planes() % h.planes(), z0 = number / w.planes() / h.planes();
  // [begin, end) of a plane's line are elements of the image
  const int64_t begin = std::clamp<int64_t>(-floor_of(x0, w.stride) - w.low, 0, w.extent);
  const int64_t end = std::clamp<int64_t>((w.image - x0 + w.stride - 1) / w.stride - w.low, begin, w.extent);
  for (int64_t z = 0; z < d.extent; ++z)
    for (int64_t y = 0; y < h.extent; ++y, to += w.extent) {
      const int64_t from_z = (z + d.low) * d.stride + z0, from_y = (y + h.low) * h.stride + y0;
      if (from_z < 0 || from_z >= d.image || from_y < 0 || from_y >= h.image) {
        std::fill_n(to, w.extent, T(0));
        continue;
      }
      const T* from = image + (from_z * h.image + from_y) * w.image + (begin + w.low) * w.stride + x0;
      std::fill_n(to, begin, T(0));
      if (w.stride == 1)
        std::copy_n(from, end - begin, to + begin);
      else
        for (int64_t i = begin; i < end; ++i) to[i] = from[(i - begin) * w.stride];
      std::fill_n(to + end, w.extent - end, T(0));
    }
}

}  // namespace

}  // namespace shim
