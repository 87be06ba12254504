#include "cuda/class_loss.h"

#include <algorithm>

#include "cuda/elementwise.h"
#include "cuda/launch.h"
#include "ops/kernels.h"

namespace shim::cuda {
namespace {

constexpr int64_t kFewElements = 1 << 19, kMostMarked = 32 * 1024;  // 32 * FLAGS of class_loss.cuh

const Family class_loss_family{"class_loss"};

CUfunction class_loss_kernel(const char* entry, DType t, int device) {
  return find_kernel(class_loss_family, entry, key_of(int(t)), device, [&] {
    return std::vector<std::string>{
        std::string("ELEMENT=") + element_type(t), std::string("C=") + compute_type(compute_dtype(t)), "V=1"};
  });
}

// Why there is no kernel for scores of this dtype; null where there is one.
const char* why_no_class_loss(DType t, const Tensor& target, const Tensor& weight, int64_t classes) {
  if (!kernels_ready()) return "no NVRTC";
  if (!floating(t)) return "a dtype without a CUDA kernel";
  if (target->dtype() != DType::i64) return "targets that are no int64";
  if (classes < 1) return "no classes";
  if (weight && (weight->dtype() != t || weight->device() != target->device() || weight->dim() != 1 ||
                    weight->numel() != classes))
    return "weights that are not one a class, of the scores' dtype";
  return nullptr;
}

// Why there is no kernel for these rows of scores and targets; null where there is one.
const char* why_no_multilabel(const Tensor& given, const Tensor& target) {
  if (given->dim() != 2) return "scores that are no matrix";
  if (!std::ranges::equal(given->sizes(), target->sizes())) return "targets of another shape than the scores";
  const int64_t rows = given->sizes()[0], classes = given->sizes()[1];
  if (const char* why = why_no_class_loss(given->dtype(), target, {}, classes)) return why;
  if (!rows) return "no rows";
  return classes > kMostMarked ? "more classes than a block marks" : nullptr;
}

constexpr NotMine kOtherTargets{"targets that are not one a row of scores"};
constexpr NotMine kOtherSlope{"a gradient that is not one a loss, of the scores' dtype"};

// Where the blocks' sums go, and what adds them up; null sums where nothing is reduced.
struct Sums {
  Tensor parts, out, total;
  int64_t blocks;
  void *sums, *to, *weights;
  Sums(DType t, Device where, IntArrayRef sizes, int64_t reduction, int64_t wanted)
      : blocks(std::clamp<int64_t>(wanted, 1, reduction ? kFullBlocks : kGridBlocks)) {
    const DType compute = compute_dtype(t);
    out = empty(reduction ? IntArrayRef() : sizes, t, where);
    total = empty({}, compute, where);
    if (reduction) parts = empty(Dims{2 * blocks}, compute, where);
    sums = reduction ? parts->data() : nullptr;
    to = out->data();
    weights = total->data();
  }
  void finish(CUfunction f, int mean, int device) {
    int count = int(blocks);
    void* arguments[] = {&sums, &to, &weights, &count, &mean};
    if (sums && blocks > 1) launch(f, 1, 1, 512, 1, arguments, device);
  }
};

}  // namespace

Outcome<std::tuple<Tensor, Tensor>> nll_loss(
    const Tensor& given, const Tensor& target, const OptionalTensor& given_weight, int64_t reduction, int64_t ignored) {
  const Tensor& weight = or_null(given_weight);
  int64_t classes = given->dim() > 1 ? given->sizes()[1] : 0, n = target->numel();
  const DType t = given->dtype();
  if (const char* why = why_no_class_loss(t, target, weight, classes)) return NotMine{why};
  if (n * classes != given->numel()) return kOtherTargets;
  const int device = given->device().index;
  const CUfunction f = class_loss_kernel("class_losses", t, device), last = class_loss_kernel("class_total", t, device);
  if (!f || !last) return NotMine{"a kernel that could not be compiled"};
  const Tensor x = contiguous(given), targets = contiguous(target), weights = contiguous_or_null(weight);
  int64_t inner = given->sizes()[0] ? n / given->sizes()[0] : 1;
  Sums s(t, given->device(), target->sizes(), reduction, (n + 511) / 512);
  std::tuple<Tensor, Tensor> found{s.out, s.total};
  if (!n && !reduction) return found;
  const void *from = x->data(), *named = targets->data(), *w = data_or_null(weights);
  int mean = reduction == 1;
  void* arguments[] = {&from, &named, &w, &s.sums, &s.to, &s.weights, &n, &classes, &inner, &ignored, &mean};
  launch(f, s.blocks, 1, int(std::clamp<int64_t>(threads_for(n), 32, 512)), 1, arguments, device);
  s.finish(last, mean, device);
  return found;
}

Outcome<Tensor> nll_loss_nd(
    const Tensor& x, const Tensor& target, const OptionalTensor& weight, int64_t reduction, int64_t ignored) {
  if (x->has_math_bits()) return NotMine{"scores with the conjugate or negative bit"};
  if (x->dim() < 2 || target->dim() != x->dim() - 1 || target->sizes()[0] != x->sizes()[0] ||
      !std::equal(x->sizes().begin() + 2, x->sizes().end(), target->sizes().begin() + 1))
    return NotMine{"targets of another shape than the scores without their classes"};
  if (target->dtype() != DType::i64) return NotMine{"targets that are no int64"};
  auto found = nll_loss(x, target, weight, reduction, ignored);
  if (!found) return found.why();
  return std::get<0>(*found);
}

Outcome<Tensor> nll_loss_backward(const Tensor& g, const Tensor& target, const OptionalTensor& given_weight,
    const Tensor& total, IntArrayRef sizes, int64_t reduction, int64_t ignored) {
  const Tensor& weight = or_null(given_weight);
  int64_t classes = sizes.size() > 1 ? sizes[1] : 0, inner = 1, n = target->numel() * classes;
  const DType t = g->dtype();
  if (const char* why = why_no_class_loss(t, target, weight, classes)) return NotMine{why};
  if (target->numel() * classes != product_of(sizes, 0, sizes.size())) return kOtherTargets;
  if (total->dtype() != compute_dtype(t)) return NotMine{"a total of weights of another dtype"};
  if (g->numel() != (reduction ? 1 : target->numel())) return kOtherSlope;
  for (size_t d = 2; d < sizes.size(); ++d) inner *= sizes[d];
  const int device = g->device().index;
  const bool few = n <= kFewElements;  // one launch is faster than zeros first
  const CUfunction f = class_loss_kernel(few ? "class_slopes" : "class_slopes_at", t, device);
  if (!f) return NotMine{"a kernel that could not be compiled"};
  const Tensor out = empty(sizes, t, g->device()), grad = contiguous(g), targets = contiguous(target),
               weights = contiguous_or_null(weight);
  if (!n) return out;
  if (!few) {
    fill_(out, Scalar{});
    n = target->numel();
  }
  const void *from = grad->data(), *named = targets->data(), *w = data_or_null(weights), *sum = total->data();
  void* to = out->data();
  int mean = reduction == 1, each = reduction == 0;
  void* arguments[] = {&from, &named, &w, &sum, &to, &n, &classes, &inner, &ignored, &mean, &each};
  launch(f, blocks_for(n), 1, 256, 1, arguments, device);
  return out;
}

Outcome<Tensor> margin_loss(const Tensor& given, const Tensor& target, const OptionalTensor& given_weight, int64_t p,
    double margin, int64_t reduction) {
  const Tensor& weight = or_null(given_weight);
  if (given->dim() != 2) return NotMine{"scores that are no matrix"};
  int64_t rows = given->sizes()[0], classes = given->sizes()[1];
  const DType t = given->dtype();
  if (const char* why = why_no_class_loss(t, target, weight, classes)) return NotMine{why};
  if (target->numel() != rows) return kOtherTargets;
  if (!rows) return NotMine{"no rows"};
  const int device = given->device().index;
  const CUfunction f = class_loss_kernel("margin_losses", t, device),
                   last = class_loss_kernel("class_total", t, device);
  if (!f || !last) return NotMine{"a kernel that could not be compiled"};
  const Tensor x = contiguous(given), targets = contiguous(target), weights = contiguous_or_null(weight);
  Sums s(t, given->device(), target->sizes(), reduction, (rows + 7) / 8);
  const void *from = x->data(), *named = targets->data(), *w = data_or_null(weights);
  int mean = reduction == 1, power = int(p);
  void* arguments[] = {&from, &named, &w, &s.sums, &s.to, &s.weights, &rows, &classes, &power, &margin, &mean};
  launch(f, s.blocks, 1, 256, 1, arguments, device);
  s.finish(last, mean, device);
  return s.out;
}

Outcome<Tensor> margin_loss_backward(const Tensor& g, const Tensor& given, const Tensor& target,
    const OptionalTensor& given_weight, int64_t p, double margin, int64_t reduction) {
  const Tensor& weight = or_null(given_weight);
  if (given->dim() != 2) return NotMine{"scores that are no matrix"};
  int64_t rows = given->sizes()[0], classes = given->sizes()[1];
  const DType t = given->dtype();
  if (const char* why = why_no_class_loss(t, target, weight, classes)) return NotMine{why};
  if (target->numel() != rows) return kOtherTargets;
  if (g->dtype() != t || g->numel() != (reduction ? 1 : rows)) return kOtherSlope;
  if ((rows + 7) / 8 > kMostBlocks) return NotMine{"more rows than a grid has blocks for"};
  const int device = given->device().index;
  const CUfunction f = class_loss_kernel("margin_slopes", t, device);
  if (!f) return NotMine{"a kernel that could not be compiled"};
  const Tensor out = empty(given->sizes(), t, given->device()), grad = contiguous(g), x = contiguous(given),
               targets = contiguous(target), weights = contiguous_or_null(weight);
  if (!rows) return out;
  const void *slope = grad->data(), *from = x->data(), *named = targets->data(), *w = data_or_null(weights);
  void* to = out->data();
  int mean = reduction == 1, each = reduction == 0, power = int(p);
  void* arguments[] = {&slope, &from, &named, &w, &to, &rows, &classes, &power, &margin, &mean, &each};
  launch(f, (rows + 7) / 8, 1, 256, 1, arguments, device);
  return out;
}

Outcome<Tensor> multilabel_loss(const Tensor& given, const Tensor& target, int64_t reduction) {
  const DType t = given->dtype();
  if (const char* why = why_no_multilabel(given, target)) return NotMine{why};
  int64_t rows = given->sizes()[0], classes = given->sizes()[1];
  const int device = given->device().index;
  const CUfunction f = class_loss_kernel("multilabel_losses", t, device),
                   last = class_loss_kernel("class_total", t, device);
  if (!f || !last) return NotMine{"a kernel that could not be compiled"};
  const Tensor x = contiguous(given), targets = contiguous(target);
  Sums s(t, given->device(), Dims{rows}, reduction, rows);
  const void *from = x->data(), *named = targets->data();
  int mean = reduction == 1;
  void* arguments[] = {&from, &named, &s.sums, &s.to, &s.weights, &rows, &classes, &mean};
  launch(f, s.blocks, 1, std::min(threads_for(classes), 256), 1, arguments, device);
  s.finish(last, mean, device);
  return s.out;
}

Outcome<Tensor> multilabel_loss_backward(
    const Tensor& g, const Tensor& given, const Tensor& target, int64_t reduction) {
  const DType t = given->dtype();
  if (const char* why = why_no_multilabel(given, target)) return NotMine{why};
  int64_t rows = given->sizes()[0], classes = given->sizes()[1];
  if (g->dtype() != t || g->numel() != (reduction ? 1 : rows)) return kOtherSlope;
  if (rows > kMostBlocks) return NotMine{"more rows than a grid has blocks for"};
  const int device = given->device().index;
  const CUfunction f = class_loss_kernel("multilabel_slopes", t, device);
  if (!f) return NotMine{"a kernel that could not be compiled"};
  const Tensor out = empty(given->sizes(), t, given->device()), grad = contiguous(g), x = contiguous(given),
               targets = contiguous(target);
  const void *slope = grad->data(), *from = x->data(), *named = targets->data();
  void* to = out->data();
  int mean = reduction == 1, each = reduction == 0;
  void* arguments[] = {&slope, &from, &named, &to, &rows, &classes, &mean, &each};
  launch(f, rows, 1, std::min(threads_for(classes), 256), 1, arguments, device);
  return out;
}

}  // namespace shim::cuda
