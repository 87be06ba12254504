#pragma once
// upsample_nearest1d and its like on CUDA: images of real floats at other sizes.
#include <array>
#include <utility>

#include "cuda/images.h"
#include "ops/kernel.h"

namespace shim::cuda {

struct Upsampling {
  Stretching how;
  int dims;
};
using Factor = std::optional<double>;  // how many times as large a dim becomes

// `size` may be absent where there are factors; `factors` are none, or one a dim.
Outcome<Tensor> upsample(const Upsampling&, const Tensor& self, std::optional<IntArrayRef> size, bool align_corners,
    std::span<const Factor> factors);

// shim::nearest: a dim's result o reads floor(scale * o), or of scale * (o + 1/2) where `exact`; and its gradient by what has
// these sizes.
Outcome<Tensor> nearest(const Tensor& x, IntArrayRef size, std::span<const double> scales, bool exact);
Outcome<Tensor> nearest_slope(const Tensor& g, IntArrayRef size, std::span<const double> scales, bool exact);

// The operators' own arguments: a factor a dim, or with `vec` all in one list.
template <size_t> using FactorOf = Factor;
template <class Indices> struct Upsample;
template <size_t... d> struct Upsample<std::index_sequence<d...>> {
  static Outcome<Tensor> plain(Registered<Upsampling> u, const Tensor& self, IntArrayRef size, FactorOf<d>... factors) {
    return upsample(*u, self, size, false, std::array{factors...});
  }
  static Outcome<Tensor> aligned(
      Registered<Upsampling> u, const Tensor& self, IntArrayRef size, bool align_corners, FactorOf<d>... factors) {
    return upsample(*u, self, size, align_corners, std::array{factors...});
  }
};
using Factors = std::optional<std::span<const double>>;
Outcome<Tensor> upsample_vec(
    Registered<Upsampling>, const Tensor& self, std::optional<IntArrayRef> size, Factors scale_factors);
Outcome<Tensor> upsample_aligned_vec(Registered<Upsampling>, const Tensor& self, std::optional<IntArrayRef> size,
    bool align_corners, Factors scale_factors);

}  // namespace shim::cuda
