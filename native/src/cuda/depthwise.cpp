#include "cuda/depthwise.h"

#include <algorithm>

#include "cuda/elementwise.h"
#include "cuda/entries/depthwise.h"
#include "ops/kernels.h"

namespace shim::cuda {
namespace {

constexpr int64_t kMostTaps = 16, kTapsBlock = 4 * 256,
                  kSlopesPiece = 2048;  // EACH * 256 and PIECE of depthwise.cuh

const Family depthwise_family{"depthwise"};

template <class E> Kernel<E> depthwise_kernel(DType t, int64_t taps, int device) {
  return find_kernel<E>(depthwise_family, key_of(int(t), taps), device, [&] {
    return std::vector<std::string>{std::string("ELEMENT=") + element_type(t),
        std::string("C=") + compute_type(compute_dtype(t)), "V=1", "TAPS=" + std::to_string(taps)};
  });
}

bool depthwise_fits(const Tensor& x, int64_t taps) {
  return kernels_ready() && floating(x->dtype()) && x->dim() == 3 && x->numel() && taps >= 1 && taps <= kMostTaps &&
         x->sizes()[0] * x->sizes()[1] <= kMostBlocks;
}

}  // namespace

Tensor depthwise(const Tensor& given, const Tensor& weight, const Tensor& bias, int64_t shift, int64_t dilation,
    bool turned, int64_t size) {
  const DType t = given->dtype();
  int64_t channels = given->sizes()[1], from = given->sizes()[2], taps = weight->sizes()[2];
  if (!depthwise_fits(given, taps) || weight->dtype() != t || weight->numel() != channels * taps || size < 1 ||
      (size + kTapsBlock - 1) / kTapsBlock > kMostRows)
    return {};
  if (bias && (bias->dtype() != t || bias->numel() != channels)) return {};
  const int device = given->device().index;
  const auto f = depthwise_kernel<entries::depthwise::taps>(t, taps, device);
  if (!f) return {};
  const Tensor x = contiguous(given), w = contiguous(weight), b = contiguous_or_null(bias);
  const Tensor out = empty(Dims{x->sizes()[0], channels, size}, t, x->device());
  launch(f, {x->sizes()[0] * channels, (size + kTapsBlock - 1) / kTapsBlock}, device, x->data(), w->data(),
      data_or_null(b), out->data(), channels, from, size, shift, dilation, turned);
  return out;
}

Tensor depthwise_weight(const Tensor& given, const Tensor& grad, int64_t taps, int64_t shift, int64_t dilation) {
  const DType t = given->dtype();
  if (!depthwise_fits(given, taps) || grad->dtype() != t || grad->dim() != 3 || !grad->numel()) return {};
  int64_t lines = given->sizes()[0], channels = given->sizes()[1], from = given->sizes()[2], size = grad->sizes()[2],
          n = channels * taps;
  if (grad->sizes()[0] != lines || grad->sizes()[1] != channels) return {};
  const int device = given->device().index;
  const auto f = depthwise_kernel<entries::depthwise::tap_slopes>(t, taps, device);
  const auto last = depthwise_kernel<entries::depthwise::tap_totals>(t, taps, device);
  if (!f || !last) return {};
  const Tensor x = contiguous(given), g = contiguous(grad), out = empty(Dims{channels, 1, taps}, t, x->device());
  int shares =
      int(std::clamp<int64_t>(2 * kFullBlocks / channels, 1, lines * ((size + kSlopesPiece - 1) / kSlopesPiece)));
  const Tensor parts = empty(Dims{shares, n}, compute_dtype(t), x->device());
  launch(
      f, {channels, shares}, device, x->data(), g->data(), parts->data(), lines, channels, from, size, shift, dilation);
  launch(last, {(n + 7) / 8}, device, parts->data(), out->data(), n, shares);
  return out;
}

}  // namespace shim::cuda
