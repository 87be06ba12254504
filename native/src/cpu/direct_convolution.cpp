#include "cpu/direct_convolution.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "cpu/direct_convolution_layout.h"
#include "cpu/direct_convolution_tiles.h"
#include "cpu/parallel.h"
#include "ops/kernels.h"

namespace shim {
namespace {

struct Weights {
  int64_t group_step, out_step, channel_step;
};  // in elements; taps are neighbours

// Weights of one block of outputs: (channel, tap, output), with zeros for outputs that are none.
template <class T>
void pack(const T* w, const Weights& at, int64_t outs, int64_t channels, const std::vector<int64_t>& taps, T* to,
    int64_t block) {
  const int64_t some = std::min(outs, block), count = int64_t(taps.size());
  if (some < block) std::fill_n(to, channels * count * block, T(0));
  for (int64_t c = 0; c < channels; ++c, w += at.channel_step)
    for (int64_t t = 0; t < count; ++t, to += block)
      for (int64_t o = 0; o < some; ++o) to[o] = w[o * at.out_step + taps[size_t(t)]];
}
template <class T>
void convolve_all(const Tiles<T>& tiles, const Shape& s, const T* x, const T* w, const Weights& at, const T* bias,
    int64_t batch, int64_t groups, int64_t in, int64_t outs, T* out) {
  const int64_t plane = s.plane(), planes = s.planes(), channel = planes * plane, pixels = s.image(),
                results = s.result();
  std::vector<Part> parts;
  std::vector<Scratch<T>> packed;
  const int64_t all = s.lines[0].step * s.lines[1].step * s.lines[2].step, rows = tiles.computed(outs),
                blocks = (outs + tiles.many.outs - 1) / tiles.many.outs;
  for (int64_t n = 0; n < all; ++n) {
    Part p = part_of(s, n, 1);
    if (!p.count[0] || !p.count[1] || !p.count[2]) continue;
    const int64_t row = in * int64_t(p.taps.size());
    Scratch<T> of(groups * rows * row);
    parallel_for(groups * blocks, std::max<int64_t>(1, kGrain / (tiles.many.outs * std::max<int64_t>(1, row))),
        [&](int64_t begin, int64_t end) {
          for (int64_t i = begin; i < end; ++i) {
            const int64_t g = i / blocks, o = i % blocks * tiles.many.outs;
            const T* from = w + g * at.group_step + o * at.out_step;
            T* to = of.begin() + (g * rows + o) * row;
            if (at.channel_step == int64_t(p.taps.size()) && outs - o >= tiles.many.outs)  // all taps, in their order
              tiles.pack(from, at.out_step, row, to);
            else
              pack(from, at, outs - o, in, p.taps, to, tiles.of(outs - o).outs);
          }
        });
    parts.push_back(std::move(p));
    packed.push_back(std::move(of));
  }
  const int64_t images = batch * groups, several = std::clamp<int64_t>(kCached / (in * channel),
                                             std::min<int64_t>(images, num_threads()), images);
  const int64_t most = tiles.of(outs).vectors * tiles.lanes, width = s.lines[2].extent, height = s.lines[1].extent;
  // Neighbouring tiles of a line of work read the same weights while what they read of the image stays near.
  const int64_t run = most * std::clamp<int64_t>(kCached / 8 / (in * most), 1, 64);
  struct Work {
    const Part* part;
    const T* weights;
    int64_t z, begin, end;
  };
  std::vector<Work> works;
  for (size_t i = 0; i < parts.size(); ++i) {
    const Part& p = parts[i];
    const int64_t flat = (p.count[1] - 1) * width + p.count[2];
    for (int64_t z = 0; z < p.count[0]; ++z)
      for (int64_t begin = 0; begin < flat; begin += run)
        works.push_back({&p, packed[i].begin(), z, begin, std::min(flat, begin + run)});
  }
  Scratch<T> laid(several * in * channel + kSlack);
  std::fill(laid.end() - kSlack, laid.end(), T(0));
  const Line &h = s.lines[1], &l = s.lines[2];
  for (int64_t first = 0; first < images; first += several) {
    const int64_t now = std::min(several, images - first);
    parallel_for(now * in * planes, std::max<int64_t>(1, kGrain / plane), [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i)
        lay_out(x + (first * in + i / planes) * pixels, s, i % planes, laid.begin() + i * plane);
    });
    const int64_t count = int64_t(works.size());
    parallel_for(now * count, std::max<int64_t>(1, kGrain / (run * outs)), [&](int64_t begin, int64_t end) {
      T sums[8 * 3 * 64 / sizeof(T)];
      for (int64_t i = begin; i < end; ++i) {
        const int64_t image = i / count;
        const Work& work = works[size_t(i % count)];
        const Part& p = *work.part;
        const int64_t taps = int64_t(p.taps.size()), group = (first + image) % groups;
        const T *weights = work.weights + group * rows * in * taps,
                *from = laid.begin() + image * in * channel + work.z * height * width;
        T* to = out + (first + image) * outs * results +
                ((work.z * s.lines[0].step + p.first[0]) * h.result + p.first[1]) * l.result + p.first[2];
        for (int64_t o = 0, block; o < outs; o += block, weights += block * in * taps) {
          const Tiling<T>& tiling = tiles.of(outs - o);
          block = tiling.outs;
          for (int64_t q = work.begin; q < work.end;) {
            const int64_t vectors = std::min<int64_t>(tiling.vectors, (work.end - q + tiles.lanes - 1) / tiles.lanes),
                          pitch = vectors * tiles.lanes;
            tiling.run[vectors - 1](from + q, p.offsets.data(), in, channel, taps, weights, sums, pitch);
            const int64_t last = std::min(work.end, q + pitch);
            for (int64_t at_q = q;
                at_q < last;) {  // the places of one line of results; between lines stands what is none
              const int64_t y = at_q / width, column = at_q % width,
                            n = std::min(last - at_q, std::max<int64_t>(0, p.count[2] - column));
              for (int64_t k = 0; k < std::min(block, outs - o) && n > 0; ++k) {
                const T b = bias ? bias[group * outs + o + k] : T(0);
                const T* sum = sums + k * pitch + (at_q - q);
                T* line = to + (o + k) * results + y * h.step * l.result + column * l.step;
                if (l.step == 1)
                  for (int64_t j = 0; j < n; ++j) line[j] = sum[j] + b;
                else
                  for (int64_t j = 0; j < n; ++j) line[j * l.step] = sum[j] + b;
              }
              at_q += std::min(last - at_q, width - column);
            }
            q += pitch;
          }
        }
      }
    });
  }
}

template <class T>
bool weight_gradient_of(const Tiles<T>& tiles, const Shape& s, const T* x, const T* g, int64_t batch, int64_t groups,
    int64_t in, int64_t outs, T* out) {
  constexpr int64_t kParts = 8;     // sums over the batch: their number does not depend on the threads
  constexpr int64_t kBlock = 2048;  // places at a time: a tile's rows stay in the first cache
  const Products<T>& kernel = tiles.products_of(outs);
  const int64_t plane = s.plane(), planes = s.planes(), pixels = s.image(), places = s.result(), taps = s.taps(),
                size = groups * outs * in * taps;
  const int64_t several = std::clamp<int64_t>(2 * kBlock / plane, 1, batch),
                rows = (outs + kernel.outs - 1) / kernel.outs * kernel.outs;
  const int64_t parts = std::min((batch + several - 1) / several, kParts);
  std::vector<T> partial(size_t(parts * size), T(0));
  const Line &d = s.lines[0], &h = s.lines[1], &w = s.lines[2];
  parallel_for(parts * groups, 1, [&](int64_t begin, int64_t end) {
    const int64_t flat = (several * plane + tiles.lanes - 1) / tiles.lanes * tiles.lanes, pairs = in * taps,
                  channel = planes * several * plane;
    Scratch<T> laid(in * channel + kSlack), slopes(rows * flat);
    std::vector<T> sums(size_t(rows * (pairs + kernel.pairs)));
    std::fill(laid.begin(), laid.end(), T(0));  // what stands beside images is multiplied by zeros: it must be numbers
    std::fill(slopes.begin(), slopes.end(), T(0));
    const Part part = part_of(s, 0, several);
    std::vector<const T*> from(size_t(pairs + kernel.pairs));
    for (int64_t i = 0; i < pairs + kernel.pairs; ++i) {  // the last tile reads the last pair again
      const int64_t pair = std::min(i, pairs - 1);
      from[size_t(i)] = laid.begin() + pair / taps * channel + part.offsets[size_t(pair % taps)];
    }
    std::vector<const T*> images(size_t(kernel.pairs));
    for (int64_t i = begin; i < end; ++i) {
      const int64_t p = i / groups, group = i % groups;
      std::fill(sums.begin(), sums.end(), T(0));
      const int64_t past = batch * (p + 1) / parts;
      for (int64_t b = batch * p / parts; b < past; b += several) {
        const int64_t now = std::min(several, past - b);
        if (now < several) std::fill(slopes.begin(), slopes.end(), T(0));
        for (int64_t n = 0; n < now; ++n) {
          const int64_t sample = (b + n) * groups + group;
          for (int64_t c = 0; c < in; ++c)
            for (int64_t k = 0; k < planes; ++k)
              lay_out(x + (sample * in + c) * pixels, s, k, laid.begin() + c * channel + (k * several + n) * plane);
          for (int64_t o = 0; o < outs; ++o)
            for (int64_t z = 0; z < d.result; ++z)
              for (int64_t y = 0; y < h.result; ++y)
                std::copy_n(g + (sample * outs + o) * places + (z * h.result + y) * w.result, w.result,
                    slopes.begin() + o * flat + n * plane + (z * h.extent + y) * w.extent);
        }
        for (int64_t first = 0; first < flat; first += kBlock) {
          const int64_t n = std::min(kBlock, flat - first);
          for (int64_t o = 0; o < rows; o += kernel.outs)
            for (int64_t pair = 0; pair < pairs; pair += kernel.pairs) {
              for (int k = 0; k < kernel.pairs; ++k) images[size_t(k)] = from[size_t(pair + k)] + first;
              kernel.run(slopes.begin() + o * flat + first, flat, images.data(), n,
                  sums.data() + o * (pairs + kernel.pairs) + pair, pairs + kernel.pairs);
            }
        }
      }
      for (int64_t o = 0; o < outs; ++o)
        std::copy_n(
            sums.data() + o * (pairs + kernel.pairs), pairs, partial.data() + p * size + (group * outs + o) * pairs);
    }
  });
  bool finite = true;
  for (int64_t i = 0; i < size; ++i) {
    T sum = partial[size_t(i)];
    for (int64_t p = 1; p < parts; ++p) sum += partial[size_t(p * size + i)];
    out[i] = sum;
    finite = finite && std::isfinite(sum);
  }
  return finite;
}

template <class F> bool of_float(DType t, F&& f) { return t == DType::f64 ? f(double{}) : f(float{}); }

// A product of matrices is as good where there is one tap, and better where weights, which are packed, are most of what is read.
bool worth(const Shape& s, int64_t batch) { return s.taps() > 1 && s.small() && batch * s.result() >= 16; }

}  // namespace

bool convolve_directly(
    const Tensor& x, const Tensor& w, const Tensor& bias, const Box& win, int64_t groups, const Tensor& out) {
  const int64_t batch = x->sizes()[0], in = x->sizes()[1] / groups, outs = out->sizes()[1] / groups;
  if (!x->numel() || !out->numel()) return false;
  const Shape s = forward_shape(x, win, out);
  if (!worth(s, batch)) return false;
  return of_float(x->dtype(), [&]<class T>(T) {
    const Tiles<T>* tiles = tiles_here<T>();
    if (tiles)
      convolve_all(*tiles, s, x->data_as<T>(), w->data_as<T>(), {outs * in * s.taps(), in * s.taps(), s.taps()},
          bias ? bias->data_as<T>() : nullptr, batch, groups, in, outs, out->data_as<T>());
    return tiles != nullptr;
  });
}

bool convolve_transposed_directly(
    const Tensor& x, const Tensor& w, const Tensor& bias, const Box& win, int64_t groups, const Tensor& out) {
  const int64_t batch = x->sizes()[0], in = x->sizes()[1] / groups, outs = out->sizes()[1] / groups;
  if (!x->numel() || !out->numel()) return false;
  const Shape s = transposed_shape(x, win, out);
  if (!worth(s, batch)) return false;
  return of_float(x->dtype(), [&]<class T>(T) {
    const Tiles<T>* tiles = tiles_here<T>();
    if (tiles)
      convolve_all(*tiles, s, x->data_as<T>(), w->data_as<T>(), {in * outs * s.taps(), s.taps(), outs * s.taps()},
          bias ? bias->data_as<T>() : nullptr, batch, groups, in, outs, out->data_as<T>());
    return tiles != nullptr;
  });
}

bool convolution_weight_directly(const Tensor& x, const Tensor& g, const Box& win, int64_t groups, const Tensor& out) {
  const int64_t batch = x->sizes()[0], in = x->sizes()[1] / groups, outs = g->sizes()[1] / groups;
  if (!x->numel() || !g->numel()) return false;
  const Shape s = forward_shape(x, win, g);
  if (!worth(s, batch) || batch * s.plane() < 512) return false;  // short sums are no work for vectors
  return of_float(x->dtype(), [&]<class T>(T) {
    const Tiles<T>* tiles = tiles_here<T>();
    return tiles &&
           weight_gradient_of(*tiles, s, x->data_as<T>(), g->data_as<T>(), batch, groups, in, outs, out->data_as<T>());
  });
}

}  // namespace shim
