#pragma once
// The kernels of depthwise convolutions that this processor has.
#include <algorithm>
#include <cstdint>
#include <utility>

#include "cpu/instructions.h"

namespace shim {
namespace {

// What a tap reads, and its weight: in elements from where a row begins, and from the first weight.
struct LaneTap {
  int64_t image, weight;
};
constexpr int kMostPlaces = 8;  // sums in registers
constexpr int kNeighbours = 7;  // as many taps in a row as weights fit into registers beside the sums
template <class T>
using LanePlaces = void (*)(const T* image, const LaneTap* rows, int64_t row_count, const LaneTap* columns,
    int64_t column_count, const T* weights, const T* first, T* to, int64_t to_step);
template <class T> struct DepthwiseTiles {
  int64_t lanes;
  void (*to_lanes)(const T* from, int64_t step, int64_t channels, int64_t n, const int64_t* at, T* to);
  void (*from_lanes)(const T* from, int64_t n, T* to, int64_t step, int64_t channels);
  // [n - 1] is for n places, and for n taps
  LanePlaces<T> places[kMostPlaces], places_of_neighbours[kMostPlaces];
  void (*taps[kMostPlaces])(
      const T* image, int64_t image_step, const LaneTap* taps, const T* slopes, int64_t lines, int64_t count, T* to);
};

#ifdef SHIM_VECTOR_TARGETS
#pragma GCC push_options
#pragma GCC target("avx512f,avx512bw,avx512vl,avx512dq,fma")
namespace wide_channels {
constexpr int kBytes = 64;
#include "cpu/depthwise_tiles.h"
}  // namespace wide_channels
#pragma GCC pop_options
#pragma GCC push_options
#pragma GCC target("avx2,fma")
namespace narrow_channels {
constexpr int kBytes = 32;
#include "cpu/depthwise_tiles.h"
}  // namespace narrow_channels
#pragma GCC pop_options

template <class T> const DepthwiseTiles<T>* depthwise_tiles_here() {
  static const DepthwiseTiles<T> found =
      has_avx512() ? wide_channels::depthwise_tiles<T>() : narrow_channels::depthwise_tiles<T>();
  return has_avx512() || has_avx2() ? &found : nullptr;
}
#else
template <class T> const DepthwiseTiles<T>* depthwise_tiles_here() { return nullptr; }
#endif

}  // namespace
}  // namespace shim
