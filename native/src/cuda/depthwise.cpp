#include "cuda/depthwise.h"

#include <algorithm>

#include "cuda/elementwise.h"
#include "cuda/launch.h"
#include "ops/kernels.h"

namespace shim::cuda {
namespace {

constexpr int64_t kMostTaps = 16, kTapsBlock = 4 * 256,
                  kSlopesPiece = 2048;  // EACH * 256 and PIECE of depthwise.cuh

const Family depthwise_family{"depthwise"};

CUfunction depthwise_kernel(const char* entry, DType t, int64_t taps, int device) {
  return find_kernel(depthwise_family, entry, key_of(int(t), taps), device, [&] {
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
  const CUfunction f = depthwise_kernel("taps", t, taps, device);
  if (!f) return {};
  const Tensor x = contiguous(given), w = contiguous(weight), b = contiguous_or_null(bias);
  const Tensor out = empty(Dims{x->sizes()[0], channels, size}, t, x->device());
  const void *lines = x->data(), *of = w->data(), *base = data_or_null(b);
  void* to = out->data();
  int back = turned;
  void* arguments[] = {&lines, &of, &base, &to, &channels, &from, &size, &shift, &dilation, &back};
  launch(f, x->sizes()[0] * channels, (size + kTapsBlock - 1) / kTapsBlock, 256, 1, arguments, device);
  return out;
}

Tensor depthwise_weight(const Tensor& given, const Tensor& grad, int64_t taps, int64_t shift, int64_t dilation) {
  const DType t = given->dtype();
  if (!depthwise_fits(given, taps) || grad->dtype() != t || grad->dim() != 3 || !grad->numel()) return {};
  int64_t lines = given->sizes()[0], channels = given->sizes()[1], from = given->sizes()[2], size = grad->sizes()[2],
          n = channels * taps;
  if (grad->sizes()[0] != lines || grad->sizes()[1] != channels) return {};
  const int device = given->device().index;
  const CUfunction f = depthwise_kernel("tap_slopes", t, taps, device),
                   last = depthwise_kernel("tap_totals", t, taps, device);
  if (!f || !last) return {};
  const Tensor x = contiguous(given), g = contiguous(grad), out = empty(Dims{channels, 1, taps}, t, x->device());
  int shares =
      int(std::clamp<int64_t>(2 * kFullBlocks / channels, 1, lines * ((size + kSlopesPiece - 1) / kSlopesPiece)));
  const Tensor parts = empty(Dims{shares, n}, compute_dtype(t), x->device());
  const void *of = x->data(), *slopes = g->data();
  void *sums = parts->data(), *to = out->data();
  void* arguments[] = {&of, &slopes, &sums, &lines, &channels, &from, &size, &shift, &dilation};
  launch(f, channels, shares, 256, 1, arguments, device);
  void* second[] = {&sums, &to, &n, &shares};
  launch(last, (n + 7) / 8, 1, 256, 1, second, device);
  return out;
}

}  // namespace shim::cuda
