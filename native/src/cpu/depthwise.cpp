#include "cpu/depthwise.h"

#include <cmath>

#include "cpu/depthwise_kernels.h"
#include "cpu/direct_convolution_layout.h"
#include "cpu/parallel.h"
#include "ops/kernels.h"

namespace shim {
namespace {

constexpr int64_t kBandElements =
    1 << 17;                          // of the image and of results together, about what a core's second cache holds
constexpr int64_t kLongestSum = 128;  // rounding grows with the length of a chain of sums

struct ImageRows {
  int64_t first, last;
};
ImageRows rows_read(const Line& h, int64_t begin, int64_t end) {  // by results [begin, end)
  int64_t low = h.image, high = 0;
  for (int64_t y = begin; y < end; ++y)
    for (const Reach& r : h.reaches[size_t(y % h.step)]) {
      const int64_t row = (y / h.step + r.shift) * h.stride + r.plane;
      if (row >= 0 && row < h.image) low = std::min(low, row), high = std::max(high, row + 1);
    }
  return {std::min(low, high), high};
}
int64_t most_rows_read(const Line& h, int64_t band) {
  int64_t most = 0;
  for (int64_t y = 0; y < h.result; y += band) {
    const ImageRows rows = rows_read(h, y, std::min(h.result, y + band));
    most = std::max(most, rows.last - rows.first);
  }
  return most;
}

// The planes of an image as vectors of neighbouring channels. A line's columns stand by their remainder by the stride, with zeros beside
// them; one more is read by no window.
template <class T> struct ChannelPlanes {
  const DepthwiseTiles<T>& tiles;
  const Shape& s;
  int64_t channels, lanes = tiles.lanes, blocks = (channels + lanes - 1) / lanes;
  int64_t extent = s.lines[2].planes() * s.lines[2].extent + 1, row = extent * lanes;
  int64_t band, rows;         // so many rows of results are made at a time, from at most so many of the image
  std::vector<int64_t> at{};  // where the elements of such rows stand
  ChannelPlanes(const DepthwiseTiles<T>& t, const Shape& shape, int64_t count) : tiles(t), s(shape), channels(count) {
    const Line &h = s.lines[1], &w = s.lines[2];
    band = std::clamp<int64_t>(kBandElements / (lanes * (w.result + extent * h.stride / h.step + 1)), 1, h.result);
    rows = most_rows_read(h, band);
    at.resize(size_t(rows * w.image));
    for (int64_t u = 0; u < w.image && rows; ++u) {
      const int64_t i = u / w.stride - w.low;
      at[size_t(u)] = i < 0 || i >= w.extent ? extent - 1 : u % w.stride * w.extent + i;
    }
    for (size_t i = size_t(w.image); i < at.size(); ++i) at[i] = at[i - size_t(w.image)] + extent;
  }
  void lay(const T* x, int64_t sample, int64_t block, ImageRows read, T* to) const {
    const int64_t width = s.lines[2].image, pixels = s.image(), first = block * lanes;
    tiles.to_lanes(x + (sample * channels + first) * pixels + read.first * width, pixels,
        std::min(lanes, channels - first), (read.last - read.first) * width, at.data(), to);
  }
};

// The taps along the width of the results of one remainder.
template <class T> std::vector<LaneTap> column_taps(const ChannelPlanes<T>& p, int64_t first) {
  const Line& w = p.s.lines[2];
  std::vector<LaneTap> taps;
  for (const Reach& r : w.reaches[size_t(first)])
    taps.push_back({(r.plane * w.extent + r.shift - w.low) * p.lanes, r.tap * p.lanes});
  return taps;
}
template <class T>
void row_of_results(const ChannelPlanes<T>& p, const std::vector<LaneTap>& rows,
    const std::vector<std::vector<LaneTap>>& columns, const T* laid, const T* weights, const T* bias, T* to) {
  const Line& w = p.s.lines[2];
  for (int64_t first = 0; first < std::min(w.step, w.result); ++first) {
    const std::vector<LaneTap>& taps = columns[size_t(first)];
    const int64_t count = w.count(first), pieces = (count + kMostPlaces - 1) / kMostPlaces;
    bool neighbours = taps.size() == size_t(kNeighbours);
    for (size_t k = 1; neighbours && k < taps.size(); ++k) neighbours = taps[k].image == taps[k - 1].image + p.lanes;
    const auto& places = neighbours ? p.tiles.places_of_neighbours : p.tiles.places;
    for (int64_t i = 0; i < pieces; ++i) {  // of nearly the same length
      const int64_t begin = count * i / pieces, n = count * (i + 1) / pieces - begin;
      places[n - 1](laid + begin * p.lanes, rows.data(), int64_t(rows.size()), taps.data(), int64_t(taps.size()),
          weights, bias, to + (first + begin * w.step) * p.lanes, w.step * p.lanes);
    }
  }
}

template <class T>
void convolve_planes(const ChannelPlanes<T>& p, const T* x, const T* w, const T* bias, int64_t batch, T* out) {
  const Shape& s = p.s;
  const Line& h = s.lines[1];
  const int64_t lanes = p.lanes, taps = s.taps(), width = s.lines[2].result, band = p.band,
                bands = (h.result + band - 1) / band, row = p.row, each = batch * bands;
  std::vector<std::vector<LaneTap>> columns;
  for (int64_t first = 0; first < s.lines[2].step; ++first) {
    columns.push_back(column_taps(p, first));
    std::ranges::sort(columns.back(), {}, &LaneTap::image);
  }
  parallel_for(p.blocks * each, std::max<int64_t>(1, kGrain / (lanes * band * width)), [&](int64_t begin, int64_t end) {
    Scratch<T> laid(p.rows * row + 1), made((band * width + lanes) * lanes), weights((taps + 1) * lanes);
    std::fill(laid.begin(), laid.end(), T(0));  // what is beside the image stays
    std::fill(made.begin(), made.end(), T(0));
    T* biases = weights.begin() + taps * lanes;
    std::vector<LaneTap> rows;
    for (int64_t i = begin, block = -1; i < end; ++i) {
      const int64_t sample = i % each / bands, y0 = i % bands * band, y1 = std::min(h.result, y0 + band);
      const int64_t channel = i / each * lanes, channels = std::min(lanes, p.channels - channel);
      if (i / each != block) {
        block = i / each;
        p.tiles.to_lanes(w + channel * taps, taps, channels, taps, nullptr, weights.begin());
        std::fill_n(biases, lanes, T(0));
        if (bias) std::copy_n(bias + channel, channels, biases);
      }
      const ImageRows read = rows_read(h, y0, y1);
      p.lay(x, sample, block, read, laid.begin());
      for (int64_t y = y0; y < y1; ++y) {
        rows.clear();
        for (const Reach& r : h.reaches[size_t(y % h.step)]) {
          const int64_t at = (y / h.step + r.shift) * h.stride + r.plane;
          if (at >= 0 && at < h.image) rows.push_back({(at - read.first) * row, r.tap * s.kernel[2] * lanes});
        }
        row_of_results(
            p, rows, columns, laid.begin(), weights.begin(), biases, made.begin() + (y - y0) * width * lanes);
      }
      p.tiles.from_lanes(made.begin(), (y1 - y0) * width,
          out + (sample * p.channels + channel) * s.result() + y0 * width, s.result(), channels);
    }
  });
}

// Adds what the results [y0, y1) of one block give to its sums, which are vectors by tap.
template <class T>
void band_of_weights(const ChannelPlanes<T>& p, const std::vector<LaneTap>& columns, const T* laid, ImageRows read,
    const T* slopes, int64_t y0, int64_t y1, T* sums) {
  const Line &h = p.s.lines[1], &w = p.s.lines[2];
  const int64_t row = p.row, count = int64_t(columns.size()), lines = std::max<int64_t>(1, kLongestSum / w.result),
                pieces = (count + kMostPlaces - 1) / kMostPlaces;
  for (const Reach& r : h.reaches[0]) {
    int64_t first = y0, last = y1;
    while (first < last && (first + r.shift) * h.stride + r.plane < 0) ++first;
    while (first < last && (last - 1 + r.shift) * h.stride + r.plane >= h.image) --last;
    if (first == last) continue;
    for (int64_t y = first; y < last; y += lines) {
      const T *from = laid + ((y + r.shift) * h.stride + r.plane - read.first) * row,
              *slope = slopes + (y - y0) * w.result * p.lanes;
      for (int64_t i = 0; i < pieces; ++i) {
        const int64_t begin = count * i / pieces, n = count * (i + 1) / pieces - begin;
        p.tiles.taps[n - 1](from, h.stride * row, columns.data() + begin, slope, std::min(lines, last - y), w.result,
            sums + (r.tap * p.s.kernel[2] + begin) * p.lanes);
      }
    }
  }
}

template <class T> bool weights_of_planes(const ChannelPlanes<T>& p, const T* x, const T* g, int64_t batch, T* out) {
  const Shape& s = p.s;
  const Line& h = s.lines[1];
  const int64_t lanes = p.lanes, taps = s.taps(), width = s.lines[2].result, band = p.band;
  // Sums over the batch: their number does not depend on the threads.
  const int64_t parts = std::clamp<int64_t>(16 / p.blocks, 1, std::min<int64_t>(batch, 8)), size = p.channels * taps;
  const std::vector<LaneTap> columns = column_taps(p, 0);
  std::vector<T> partial(size_t(parts * size));
  parallel_for(p.blocks * parts, std::max<int64_t>(1, kGrain / (lanes * s.result() * batch / parts)),
      [&](int64_t begin, int64_t end) {
        Scratch<T> laid(p.rows * p.row + 1), slopes(band * width * lanes), sums((taps + lanes) * lanes);
        std::fill(laid.begin(), laid.end(), T(0));
        for (int64_t i = begin; i < end; ++i) {
          const int64_t part = i % parts, block = i / parts, channel = block * lanes,
                        channels = std::min(lanes, p.channels - channel);
          std::fill(sums.begin(), sums.end(), T(0));
          for (int64_t n = batch * part / parts; n < batch * (part + 1) / parts; ++n)
            for (int64_t y0 = 0; y0 < h.result; y0 += band) {
              const int64_t y1 = std::min(h.result, y0 + band);
              const ImageRows read = rows_read(h, y0, y1);
              p.lay(x, n, block, read, laid.begin());
              p.tiles.to_lanes(g + (n * p.channels + channel) * s.result() + y0 * width, s.result(), channels,
                  (y1 - y0) * width, nullptr, slopes.begin());
              band_of_weights(p, columns, laid.begin(), read, slopes.begin(), y0, y1, sums.begin());
            }
          p.tiles.from_lanes(sums.begin(), taps, partial.data() + part * size + channel * taps, taps, channels);
        }
      });
  bool finite = true;
  for (int64_t i = 0; i < size; ++i) {
    T sum = partial[size_t(i)];
    for (int64_t part = 1; part < parts; ++part) sum += partial[size_t(part * size + i)];
    out[i] = sum;
    finite = finite && std::isfinite(sum);
  }
  return finite;
}

// f(planes) where a kernel is worth it for the channels of one plane each; vectors that are less than half full are not.
template <class F>
bool on_planes(const Tensor& x, const Tensor& other, const Tensor& out, int64_t groups, const Shape& s, F&& f) {
  const bool one_each = x->sizes()[1] == groups && other->sizes()[1] == groups;
  if (!one_each || !x->numel() || !out->numel() || s.lines[0].image != 1 || s.lines[0].result != 1 ||
      s.kernel[0] != 1 || s.taps() == 1)
    return false;
  const auto run = [&]<class T>(T) {
    const DepthwiseTiles<T>* tiles = depthwise_tiles_here<T>();
    if (!tiles || 2 * groups < tiles->lanes) return false;
    return f(ChannelPlanes<T>(*tiles, s, groups));
  };
  return x->dtype() == DType::f64 ? run(double{}) : run(float{});
}

}  // namespace

bool convolve_depthwise(
    const Tensor& x, const Tensor& w, const Tensor& bias, const Box& win, int64_t groups, const Tensor& out) {
  return on_planes(x, out, out, groups, forward_shape(x, win, out), [&]<class T>(const ChannelPlanes<T>& p) {
    convolve_planes(
        p, x->data_as<T>(), w->data_as<T>(), bias ? bias->data_as<T>() : nullptr, x->sizes()[0], out->data_as<T>());
    return true;
  });
}

bool convolve_transposed_depthwise(
    const Tensor& x, const Tensor& w, const Tensor& bias, const Box& win, int64_t groups, const Tensor& out) {
  return on_planes(x, out, out, groups, transposed_shape(x, win, out), [&]<class T>(const ChannelPlanes<T>& p) {
    convolve_planes(
        p, x->data_as<T>(), w->data_as<T>(), bias ? bias->data_as<T>() : nullptr, x->sizes()[0], out->data_as<T>());
    return true;
  });
}

bool convolution_weight_depthwise(const Tensor& x, const Tensor& g, const Box& win, int64_t groups, const Tensor& out) {
  return on_planes(x, g, g, groups, forward_shape(x, win, g), [&]<class T>(const ChannelPlanes<T>& p) {
    return weights_of_planes(p, x->data_as<T>(), g->data_as<T>(), x->sizes()[0], out->data_as<T>());
  });
}

}  // namespace shim
