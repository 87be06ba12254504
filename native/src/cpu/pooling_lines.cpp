// Pools of images in channels last: each place is a line of channels, and each step of a window one loop over it.
#include <algorithm>
#include <limits>

#include "cpu/kernel_table.h"
#include "cpu/parallel.h"
#include "cpu/pool_spans.h"

namespace shim {
namespace {

template <class T> SHIM_MATH_CLONES void add_line(T* to, const T* x, int64_t n) {
  for (int64_t c = 0; c < n; ++c) to[c] += x[c];
}
template <class T> SHIM_MATH_CLONES void divided_line(T* to, const T* x, T by, int64_t n) {
  for (int64_t c = 0; c < n; ++c) to[c] = x[c] / by;
}
// The greater of best and x, a NaN being greater than all; where `at` is negative nothing was seen.
template <class T> SHIM_MATH_CLONES void keep_greater(T* best, PlaceIn<T>* at, const T* x, PlaceIn<T> here, int64_t n) {
  for (int64_t c = 0; c < n; ++c) {
    const T v = x[c], old = best[c];
    const bool wins = (v > old) | (v != v) | (at[c] < 0);
    best[c] = wins ? v : old;
    at[c] = wins ? here : at[c];
  }
}

struct Image {
  int64_t batch, channels, height, width;
  explicit Image(const Tensor& x)
      : batch(x->sizes()[0]), channels(x->sizes()[1]), height(x->sizes()[2]), width(x->sizes()[3]) {}
};

Tensor lines_of(const Image& like, int64_t height, int64_t width, DType dtype) {
  return empty(Dims{like.batch, like.channels, height, width}, dtype, Device{}, false, MemoryFormat::channels_last);
}

// f(image, row's span, the first place of the result's row) for the rows of all results.
template <class F> void each_row(const Image& x, const Spans& rows, const Spans& cols, F&& f) {
  const int64_t many = int64_t(rows.size()), width = int64_t(cols.size());
  const int64_t work = x.channels * (width + x.height * x.width / std::max<int64_t>(1, many));
  parallel_for(
      x.batch * many, std::max<int64_t>(1, kGrain / std::max<int64_t>(1, work)), [&](int64_t begin, int64_t end) {
        for (int64_t r = begin; r < end; ++r) f(r / many, rows[size_t(r % many)], r * width);
      });
}

}  // namespace

Spans spans_of_windows(
    int64_t size, int64_t many, int64_t kernel, int64_t stride, int64_t padding, int64_t dilation, bool include_pad) {
  Spans spans;
  const int64_t reach = dilation * (kernel - 1) + 1;
  for (int64_t i = 0; i < many; ++i) {
    const int64_t start = i * stride - padding, end = std::min(start + reach, size + padding);
    // The first place inside that the window's steps reach.
    const int64_t skipped = start < 0 ? (-start + dilation - 1) / dilation : 0, first = start + skipped * dilation;
    const int64_t last = std::min(end, size);
    spans.push_back({first, last, include_pad ? end - start : last - first});
  }
  return spans;
}

Spans spans_of_parts(int64_t size, int64_t many) {
  Spans spans;
  for (int64_t i = 0; i < many; ++i) {
    const int64_t first = i * size / many, last = ((i + 1) * size + many - 1) / many;
    spans.push_back({first, last, last - first});
  }
  return spans;
}

Tensor max_of_lines(const Tensor& x, const Spans& rows, const Spans& cols, const int64_t (&step)[2], Tensor* indices) {
  const Image of(x);
  Tensor out = lines_of(of, int64_t(rows.size()), int64_t(cols.size()), x->dtype());
  *indices = lines_of(of, int64_t(rows.size()), int64_t(cols.size()), DType::i64);
  by_dtype(x->dtype(), [&]<class T>(T) {
    each_row(of, rows, cols, [&](int64_t image, const BoxSpan& v, int64_t place) {
      const T* from = x->data_as<T>() + image * of.height * of.width * of.channels;
      std::vector<PlaceIn<T>> at(size_t(of.channels));
      for (const BoxSpan& h : cols) {
        T* best = out->data_as<T>() + place * of.channels;
        std::fill_n(best, of.channels, -std::numeric_limits<T>::infinity());
        std::ranges::fill(at, PlaceIn<T>(-1));
        for (int64_t i = v.first; i < v.last; i += step[0])
          for (int64_t j = h.first; j < h.last; j += step[1]) {
            const int64_t here = i * of.width + j;
            keep_greater(best, at.data(), from + here * of.channels, PlaceIn<T>(here), of.channels);
          }
        std::ranges::copy(at, (*indices)->data_as<int64_t>() + place++ * of.channels);
      }
    });
  });
  return out;
}

Tensor mean_of_lines(const Tensor& x, const Spans& rows, const Spans& cols, int64_t divisor) {
  const Image of(x);
  Tensor out = lines_of(of, int64_t(rows.size()), int64_t(cols.size()), x->dtype());
  by_dtype(x->dtype(), [&]<class T>(T) {
    each_row(of, rows, cols, [&](int64_t image, const BoxSpan& v, int64_t place) {
      const T* from = x->data_as<T>() + image * of.height * of.width * of.channels;
      for (const BoxSpan& h : cols) {
        T* to = out->data_as<T>() + place++ * of.channels;
        std::fill_n(to, of.channels, T(0));
        for (int64_t i = v.first; i < v.last; ++i)
          for (int64_t j = h.first; j < h.last; ++j) add_line(to, from + (i * of.width + j) * of.channels, of.channels);
        divided_line(to, to, T(divisor ? divisor : v.counted * h.counted), of.channels);
      }
    });
  });
  return out;
}

Tensor mean_of_lines_backward(
    const Tensor& g, const Spans& rows, const Spans& cols, int64_t divisor, int64_t height, int64_t width) {
  const Image of(g);
  Tensor out = lines_of(of, height, width, g->dtype());
  by_dtype(g->dtype(), [&]<class T>(T) {
    parallel_each(of.batch, height * width * of.channels, [&](int64_t image) {
      const T* from = g->data_as<T>() + image * of.height * of.width * of.channels;
      T* to = out->data_as<T>() + image * height * width * of.channels;
      std::fill_n(to, height * width * of.channels, T(0));
      std::vector<T> part(size_t(of.channels));
      for (const BoxSpan& v : rows)
        for (const BoxSpan& h : cols) {
          divided_line(part.data(), from, T(divisor ? divisor : v.counted * h.counted), of.channels);
          from += of.channels;
          for (int64_t i = v.first; i < v.last; ++i)
            for (int64_t j = h.first; j < h.last; ++j)
              add_line(to + (i * width + j) * of.channels, part.data(), of.channels);
        }
    });
  });
  return out;
}

}  // namespace shim
