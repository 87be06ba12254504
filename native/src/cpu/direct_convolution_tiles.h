#pragma once
// The kernels of direct convolutions that this processor has.
#include <cstdint>
#include <type_traits>
#include <utility>

#include "cpu/instructions.h"

namespace shim {
namespace {

template <class T>
using Tile = void (*)(const T* image, const int64_t* offsets, int64_t channels, int64_t channel_step, int64_t taps,
    const T* weights, T* to, int64_t to_step);
// Outputs of a tile, and how many vectors of places it may have: run[n - 1] is for n.
template <class T> struct Tiling {
  int outs, vectors;
  Tile<T> run[6];
};
// Slopes of `outs` outputs times what `pairs` pairs of a channel and a tap read.
template <class T> struct Products {
  int outs, pairs;
  void (*run)(const T* slopes, int64_t slope_step, const T* const* images, int64_t n, T* to, int64_t to_step);
};
// The kernels of a processor, whose vectors have `lanes` elements.
template <class T> struct Tiles {
  int64_t lanes;
  Tiling<T> many, some, one;
  Products<T> some_products, one_product;
  void (*pack)(const T* lines, int64_t step, int64_t n, T* to);  // to[i][o] = lines[o][i], for the outputs of `many`
  const Tiling<T>& of(int64_t outs) const { return outs > some.outs ? many : outs > 1 ? some : one; }
  const Products<T>& products_of(int64_t outs) const { return outs > 1 ? some_products : one_product; }
  // Outputs that are computed for so many that are asked for.
  int64_t computed(int64_t outs) const {
    int64_t all = 0;
    for (int64_t o = 0; o < outs; o += of(outs - o).outs) all += of(outs - o).outs;
    return all;
  }
};
constexpr int64_t kSlack = 256;       // elements behind the planes, which the last tiles read
constexpr int64_t kCached = 1 << 18;  // elements that a core's second cache holds

#ifdef SHIM_VECTOR_TARGETS
#pragma GCC push_options
#pragma GCC target("avx512f,avx512bw,avx512vl,avx512dq,fma")
namespace wide_tiles {
constexpr int kBytes = 64;
#include "cpu/convolution_tiles.h"
}  // namespace wide_tiles
#pragma GCC pop_options
#pragma GCC push_options
#pragma GCC target("avx2,fma")
namespace narrow_tiles {
constexpr int kBytes = 32;
#include "cpu/convolution_tiles.h"
}  // namespace narrow_tiles
#pragma GCC pop_options

template <class T> const Tiles<T>* tiles_here() {
  static const Tiles<T> found = has_avx512() ? wide_tiles::tiles<T>() : narrow_tiles::tiles<T>();
  return has_avx512() || has_avx2() ? &found : nullptr;
}
#else
template <class T> const Tiles<T>* tiles_here() { return nullptr; }
#endif

}  // namespace
}  // namespace shim
