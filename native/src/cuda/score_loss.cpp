#include "cuda/score_loss.h"

#include <algorithm>

#include "cuda/entries/row_softmax.h"
#include "cuda/reasons.h"
#include "cuda/row_kernels.h"
#include "ops/kernels.h"

namespace shim::cuda {
namespace {

// Where rows of scores lie: their stride, how many lie evenly, and the stride of these blocks.
struct Lines {
  int64_t rows, cols, stride, inner, outer;
};

std::optional<Lines> lines_of(const Tensor& x) {
  const IntArrayRef sizes = x->sizes(), strides = x->strides();
  if (sizes.size() < 2 || sizes.size() > 3 || strides.back() != 1) return {};
  const size_t row = sizes.size() - 2;
  Lines l{x->numel() / std::max<int64_t>(sizes.back(), 1), sizes.back(), strides[row], sizes[row], 0};
  l.outer = row ? strides[0] : l.stride * l.inner;
  return l;
}

// Elements of an access: as many as of float32, so that sums are those of converted scores.
int accessed(const Tensor& x, const Lines& l) {
  int v = 4;
  const auto fits = [&](int64_t n) { return n % v == 0; };
  while (v > 1 && !(fits(l.cols) && fits(l.stride) && fits(l.outer) &&
                      reinterpret_cast<uintptr_t>(x->data()) % (size_t(v) * itemsize(x->dtype())) == 0))
    v /= 2;
  return v;
}

bool narrow(DType t) { return t == DType::f16 || t == DType::bf16; }

}  // namespace

Outcome<std::tuple<Tensor, Tensor, Tensor, Tensor>> cross_entropy_scores(
    const Tensor& x, const Tensor& target, int64_t reduction, int64_t ignored) {
  const DType t = x->dtype(), compute = DType::f32;
  if (!kernels_ready()) return kNoCompiler;
  if (!narrow(t)) return kOtherDtype;
  if (target->dtype() != DType::i64) return NotMine{"targets other than int64"};
  const auto l = lines_of(x);
  if (!l || !target->is_contiguous()) return kStrided;
  if (!l->rows || !l->cols) return kNoElements;
  if (l->rows > kMostBlocks) return kTooMany;
  if (target->numel() != l->rows) return kOtherSizes;
  const int device = x->device().index, v = accessed(x, *l);
  const auto f = rows_kernel<entries::row_softmax::cross_entropy_scores>({t, compute, t, v, 0, "LOG=1"}, device);
  const auto all = rows_kernel<entries::row_softmax::total>({compute, compute, compute, v, 0, "LOG=1"}, device);
  if (!f || !all) return kNotCompiled;
  int64_t rows = l->rows, cols = l->cols, stride = l->stride, inner = l->inner, outer = l->outer;
  const auto made = [&](Dims sizes) { return empty(sizes, compute, x->device()); };
  const Tensor levels = made({rows, 2}), factors = made({rows}), total = made({}), losses = made({rows});
  const Tensor out = reduction ? made({}) : losses;
  launch(f, {rows, 1, threads_for(cols / v / 2)}, device, x->data(), target->data(), levels->data(), losses->data(),
      factors->data(), cols, stride, inner, outer, ignored);
  if (reduction)
    launch(all, {1, 1, threads_for(rows / 4)}, device, losses->data(), factors->data(), out->data(), total->data(),
        rows, reduction == 1);
  return std::tuple{out, levels, factors, total};
}

namespace {

// Into `out`, which has the scores' sizes.
Outcome<Tensor> slope_to(const Tensor& out, const Tensor& slope, const Tensor& x, const Tensor& levels,
    const Tensor& target, const Tensor& factors, const Tensor& total, int64_t reduction) {
  const DType t = x->dtype(), compute = DType::f32;
  if (!kernels_ready()) return kNoCompiler;
  if (!narrow(t)) return kOtherDtype;
  if (slope->dtype() != compute || out->dtype() != t) return kMixedDtypes;
  const auto l = lines_of(x), to = lines_of(out);
  if (!l || !to || !target->is_contiguous()) return kStrided;
  if (!std::ranges::equal(out->sizes(), x->sizes())) return kOtherSizes;
  const Tensor g = contiguous(slope);
  const int device = x->device().index, v = std::min(accessed(x, *l), accessed(out, *to));
  const auto f =
      rows_kernel<entries::row_softmax::cross_entropy_scores_backward>({t, compute, t, v, 0, "LOG=1"}, device);
  if (!f) return kNotCompiled;
  int64_t rows = l->rows, cols = l->cols, stride = l->stride, inner = l->inner, outer = l->outer;
  int64_t to_stride = to->stride, to_outer = to->outer;
  launch(f, {rows, 1, threads_for(cols / v / 2)}, device, g->data(), x->data(), levels->data(), target->data(),
      factors->data(), total->data(), out->data(), cols, stride, inner, outer, to_stride, to_outer, reduction == 1,
      reduction == 0);
  return out;
}

}  // namespace

Outcome<Tensor> put_slope(const Tensor& out, const Tensor& g, const Tensor& x, const Tensor& levels,
    const Tensor& target, const Tensor& factors, const Tensor& total, int64_t reduction) {
  Outcome<Tensor> made = slope_to(out, g, x, levels, target, factors, total, reduction);
  if (made) out->bump_version();
  return made;
}

Outcome<Tensor> cross_entropy_scores_backward(const Tensor& g, const Tensor& x, const Tensor& levels,
    const Tensor& target, const Tensor& factors, const Tensor& total, int64_t reduction) {
  return slope_to(empty(x->sizes(), x->dtype(), x->device()), g, x, levels, target, factors, total, reduction);
}

}  // namespace shim::cuda
