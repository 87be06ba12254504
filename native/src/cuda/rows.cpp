#include "cuda/rows.h"

#include <algorithm>

#include "cuda/variance.h"
#include "cuda/elementwise.h"
#include "cuda/channel_norm.h"
#include "cuda/entries/row_extremes.h"
#include "cuda/entries/row_softmax.h"
#include "cuda/entries/rows.h"
#include "cuda/reasons.h"
#include "cuda/row_kernels.h"
#include "ops/kernels.h"
#include "ops/integer_range.h"
#include "ops/placed.h"
#include "ops/reduced_dims.h"

namespace shim::cuda {
Outcome<Tensor> softmax_backward(const Tensor& g, const Tensor& result, int64_t dim, bool log) {
  const DType t = result->dtype();
  if (dim != -1 && dim != result->dim() - 1) return NotMine{"a dim other than the last"};
  if (!kernels_ready()) return kNoCompiler;
  if (!floating(t)) return kOtherDtype;
  if (g->dtype() != t) return kMixedDtypes;
  if (!result->is_contiguous()) return kStrided;
  if (result->dim() == 0 || !result->numel()) return kNoElements;
  int64_t cols = result->sizes().back(), rows = result->numel() / cols;
  if (rows > kMostBlocks) return kTooMany;
  const Tensor grad = contiguous(g);
  const int device = result->device().index, v = vector_for(cols, {&result, &grad});
  const int64_t loads = cols / v;
  int threads = std::max(threads_for((loads + 1) / 2), 32), kept = 1;
  while (kept < 4 && int64_t(threads) * kept < loads) kept *= 2;
  if (int64_t(threads) * kept < loads) kept = 0;
  const auto f = rows_kernel<entries::row_softmax::softmax_backward>(
      {t, compute_dtype(t), t, v, kept, log ? "LOG=1" : "LOG=0"}, device);
  if (!f) return kNotCompiled;
  Tensor out = empty(result->sizes(), t, result->device());
  launch(f, {rows, 1, threads}, device, grad->data(), result->data(), out->data(), cols);
  return out;
}

Outcome<std::tuple<Tensor, Tensor, Tensor, Tensor>> cross_entropy(const Tensor& x, const Tensor& target,
    const OptionalTensor& own_weight, int64_t reduction, int64_t ignored, bool keep) {
  const DType t = x->dtype(), compute = compute_dtype(t);
  const Tensor& weight = or_null(own_weight);
  if (!kernels_ready()) return kNoCompiler;
  if (!floating(t)) return kOtherDtype;
  if (target->dtype() != DType::i64) return NotMine{"targets other than int64"};
  if (weight && weight->dtype() != t) return kMixedDtypes;
  if (!x->is_contiguous() || !target->is_contiguous() || (weight && !weight->is_contiguous())) return kStrided;
  if (x->dim() != 2) return kOtherSizes;
  int64_t rows = x->sizes()[0], cols = x->sizes()[1];
  if (rows == 0 || cols == 0) return kNoElements;
  if (rows > kMostBlocks) return kTooMany;
  if (target->numel() != rows || (weight && weight->numel() != cols)) return kOtherSizes;
  const int device = x->device().index;
  const Tensor log_p = keep ? empty(x->sizes(), t, x->device()) : empty(Dims{0}, t, x->device());
  const int v = keep ? vector_for(cols, {&x, &log_p}) : vector_for(cols, {&x});
  const auto f = rows_kernel<entries::row_softmax::cross_entropy>({t, compute, t, v, 0, "LOG=1"}, device);
  const Pick pick{t, compute, t, v, 0, "LOG=1"};
  Kernel<entries::row_softmax::total> all;
  Kernel<entries::row_softmax::narrowed> each_row;
  reduction ? void(all = rows_kernel<entries::row_softmax::total>(pick, device))
            : void(each_row = rows_kernel<entries::row_softmax::narrowed>(pick, device));
  if (!f || !(all || each_row)) return kNotCompiled;
  Tensor factors = empty(Dims{rows}, compute, x->device()), total = empty({}, compute, x->device()),
         losses = empty(Dims{rows}, compute, x->device()),
         out = reduction ? empty({}, t, x->device()) : empty(Dims{rows}, t, x->device());
  void *each = losses->data(), *of_rows = factors->data(), *loss = out->data();
  launch(f, {rows, 1, threads_for(cols / v / 2)}, device, x->data(), target->data(), data_or_null(weight),
      keep ? log_p->data() : nullptr, each, of_rows, cols, ignored);
  if (reduction)
    launch(all, {1, 1, threads_for(rows / 4)}, device, each, of_rows, loss, total->data(), rows, reduction == 1);
  else
    launch(each_row, {(rows + 255) / 256}, device, each, loss, rows);
  return std::tuple{out, log_p, factors, total};
}

Outcome<Tensor> cross_entropy_backward(const Tensor& slope, const Tensor& x, const Tensor& target,
    const Tensor& factors, const Tensor& total, int64_t reduction) {
  const DType t = x->dtype();
  if (!kernels_ready()) return kNoCompiler;
  if (!floating(t)) return kOtherDtype;
  if (slope->dtype() != t) return kMixedDtypes;
  if (!x->is_contiguous() || !target->is_contiguous()) return kStrided;
  const Tensor g = contiguous(slope);
  int64_t rows = x->sizes()[0], cols = x->sizes()[1];
  Tensor out = empty(x->sizes(), t, x->device());
  const int device = x->device().index, v = vector_for(cols, {&x, &out});
  const auto f =
      rows_kernel<entries::row_softmax::cross_entropy_backward>({t, compute_dtype(t), t, v, 0, "LOG=1"}, device);
  if (!f) return kNotCompiled;
  launch(f, {rows, 1, threads_for(cols / v / 2)}, device, g->data(), x->data(), target->data(), factors->data(),
      total->data(), out->data(), cols, reduction == 1, reduction == 0);
  return out;
}

Tensor arg_extreme(bool largest, const Tensor& given, int64_t dim, bool all, bool keepdim, Tensor* values) {
  const DType t = given->dtype();
  if (!kernels_ready() || !has_kernel(t) || given->numel() == 0) return {};
  if (!all && (dim < -std::max(given->dim(), 1) || dim >= std::max(given->dim(), 1))) return {};
  if (dim < 0) dim += std::max(given->dim(), 1);
  const Tensor self = contiguous(given);
  Cut c = all ? Cut{1, self->numel(), 1} : cut_at(self, dim);
  if (c.outer > kMostRows && c.inner > 1) return {};
  Dims shape;
  for (int i = 0; i < self->dim(); ++i)
    if (!all && i != dim)
      shape.push_back(self->sizes()[size_t(i)]);
    else if (keepdim)
      shape.push_back(1);
  const int device = self->device().index;
  const DType compute = t == DType::b8 ? DType::u8 : compute_dtype(t);
  const char* macro = largest ? "LARGEST=1" : "LARGEST=0";
  Tensor indices = empty(shape, DType::i64, self->device());
  if (values) *values = empty(shape, t, self->device());
  const void* from = self->data();
  void *found = values ? (*values)->data() : nullptr, *at = indices->data();
  if (c.inner > 1) {
    const auto f = rows_kernel<entries::row_extremes::extreme_columns>({t, compute, t, 1, 0, macro}, device);
    if (!f) return {};
    launch(f, {(c.inner + 31) / 32, c.outer, 32, c.n >= 256 ? 32 : 8}, device, from, found, at, c.n, c.inner);
    return indices;
  }
  const int v = vector_for(c.n, {&self});
  int64_t parts = std::clamp<int64_t>(std::min(c.n / 8192, 264 / std::max<int64_t>(c.outer, 1)), 1, 264);
  int64_t per = ((c.n + parts - 1) / parts + v - 1) / v * v;
  parts = (c.n + per - 1) / per;
  const auto f =
      rows_kernel<entries::row_extremes::extreme_rows>({t, compute, parts > 1 ? compute : t, v, 0, macro}, device);
  Kernel<entries::row_extremes::extreme_parts> last;
  if (parts > 1) last = rows_kernel<entries::row_extremes::extreme_parts>({t, compute, t, v, 0, macro}, device);
  if (!f || (parts > 1 && !last) || c.outer > kMostBlocks) return {};
  const int threads =
      std::max(threads_for(per / v / 8), 64);  // few: finding the block's best costs more than its elements
  if (parts == 1) {
    launch(f, {c.outer, 1, threads}, device, from, found, at, c.n, per);
    return indices;
  }
  Tensor bests = empty(Dims{c.outer, parts}, compute, self->device()),
         spots = empty(Dims{c.outer, parts}, DType::i64, self->device());
  void *b = bests->data(), *s = spots->data();
  launch(f, {c.outer, parts, threads}, device, from, b, s, c.n, per);
  launch(last, {c.outer, 1, threads_for(parts)}, device, b, s, found, at, parts);
  return indices;
}

namespace {

// Of few rows that are long: of each piece, and of what that gives.
Tensor log_sum_exp_of_long(const Tensor& rows) {
  constexpr int64_t kPiece = 1 << 14;
  const int64_t n = rows->sizes()[0], cols = rows->sizes()[1], whole = cols / kPiece, rest = cols % kPiece,
                pieces = whole + (rest ? 1 : 0);
  const DType wide = compute_dtype(rows->dtype());
  const Tensor x = of_dtype(rows, wide), found = empty(Dims{n, pieces}, wide, x->device());
  const auto put = [&](int64_t from, int64_t count, int64_t size) {
    const Tensor part = as_strided(*x, Dims{n, count, size}, Dims{cols, size, 1}, from * kPiece),
                 r = log_sum_exp(part, Dims{2}, false);
    if (r) copy_(as_strided(*found, Dims{n, count}, Dims{pieces, 1}, from), r);
    return bool(r);
  };
  if (!put(0, whole, kPiece) || (rest && !put(whole, 1, rest))) return {};
  const Tensor out = log_sum_exp(found, Dims{1}, false);
  return out ? of_dtype(out, rows->dtype()) : out;
}

}  // namespace

Tensor log_sum_exp(const Tensor& given, IntArrayRef dims, bool keepdim) {
  const DType t = given->dtype();
  const auto of = reduced_dims(*given, dims, keepdim);
  if (!of || !kernels_ready() || !floating(t) || given->numel() == 0) return {};
  const Tensor self = contiguous(of->last ? given : permute(*given, of->order));
  const int64_t cols = of->cols, rows = self->numel() / cols;
  if (rows > kMostBlocks) return {};
  if (rows < 64 && cols > 1 << 17) {
    const Tensor r = log_sum_exp_of_long(view(*self, Dims{rows, cols}));
    return r ? view(*r, of->shape) : r;
  }
  const int device = self->device().index, v = vector_for(cols, {&self});
  const auto f = rows_kernel<entries::row_softmax::log_sum_exp>({t, compute_dtype(t), t, v, 0, "LOG=1"}, device);
  if (!f) return {};
  Tensor out = empty(of->shape, t, self->device());
  launch(f, {rows, 1, threads_for(cols / v / 4)}, device, self->data(), out->data(), cols);
  return out;
}

Tensor variance(const Tensor& given, IntArrayRef dims, bool keepdim, double correction, bool root, Tensor* mean) {
  const DType t = given->dtype();
  const auto of = reduced_dims(*given, dims, keepdim);
  if (!of || !kernels_ready() || !floating(t) || given->numel() == 0) return {};
  if (!of->last) return variance_down(given, dims, keepdim, correction, root, mean);
  const Tensor self = contiguous(given);
  const Dims& shape = of->shape;
  const int64_t cols = of->cols, rows = self->numel() / cols;
  if (rows > kMostBlocks || double(cols) <= correction) return {};
  if (rows < 64 && cols > 1 << 17) {
    const Tensor out = empty(shape, t, self->device());
    if (mean) *mean = empty(shape, t, self->device());
    return variance_of_rows(self, correction, root, mean ? *mean : Tensor(), out) ? out : Tensor();
  }
  const int device = self->device().index, v = vector_for(cols, {&self});
  const auto f = rows_kernel<entries::rows::variance>({t, compute_dtype(t), t, v, 0, "MOMENTS=1"}, device);
  if (!f) return {};
  Tensor out = empty(shape, t, self->device());
  if (mean) *mean = empty(shape, t, self->device());
  double freedom = double(cols) - correction;
  launch(f, {rows, 1, threads_for(cols / v / 2)}, device, self->data(), out->data(), mean ? (*mean)->data() : nullptr,
      cols, freedom, root);
  return out;
}

Outcome<Tensor> arange(IntOrFloat from, IntOrFloat end, IntOrFloat by, std::optional<DType> dtype, Ignored,
    std::optional<Device> where, std::optional<bool> pin_memory) {
  if (!where) return kAnothers;  // on the CPU
  if (pin_memory.value_or(false)) return NotMine{"pinned memory"};
  Outcome<IntegerRange> range = integer_range(from, end, by, dtype);
  if (!range) return range.why();
  auto [start, step, n, t] = *range;
  if (!kernels_ready() || !has_kernel(t)) return NotMine{"no CUDA kernels here"};
  Tensor out = empty(Dims{n}, t, placed(*where));
  const int device = out->device().index;
  const DType compute = floating(t) ? DType::f64 : DType::i64;
  const auto f = rows_kernel<entries::rows::ramp>({t, compute, t, 1, 0, "MAKES=1"}, device);
  if (!f) return NotMine{"a kernel that could not be compiled"};
  if (!n) return out;
  const double first = double(start), distance = double(step);
  const bool floats = compute == DType::f64;
  launch(f, {(n + 255) / 256}, device, out->data(), n, floats ? Bytes{&first} : Bytes{&start},
      floats ? Bytes{&distance} : Bytes{&step});
  return out;
}

Outcome<Tensor> triangle(const Tensor& given, int64_t diagonal, bool upper) {
  const DType t = given->dtype() == DType::c64 ? DType::f64 : given->dtype();  // as many bytes, which are moved
  if (!kernels_ready()) return kNoCompiler;
  if (!has_kernel(t)) return kOtherDtype;
  if (given->dim() < 2) return NotMine{"fewer than two dims, which PyTorch refuses"};
  const Tensor self = contiguous(given);
  Tensor out = empty(self->sizes(), self->dtype(), self->device());
  int64_t total = self->numel(), cols = self->sizes().back(), rows = self->sizes()[size_t(self->dim() - 2)];
  if (!total) return out;
  const int device = self->device().index, v = vector_for(cols, {&self});
  const auto f = rows_kernel<entries::rows::triangle>({t, compute_dtype(t), t, v, 0, "MAKES=1"}, device);
  if (!f) return kNotCompiled;
  launch(f, {(total / v + 255) / 256}, device, self->data(), out->data(), total, rows, cols, diagonal, upper);
  return out;
}

}  // namespace shim::cuda
