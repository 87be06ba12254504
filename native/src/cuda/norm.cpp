#include "cuda/norm.h"

#include <algorithm>

#include "cuda/elementwise.h"
#include "cuda/launch.h"
#include "cuda/reasons.h"
#include "ops/kernels.h"

namespace shim::cuda {
namespace {

const Family norm_family{"norm"};

CUfunction norm_kernel(const char* entry, DType t, int vector, int kept, bool centred, int device) {
  return find_kernel(norm_family, entry, key_of(int(t), vector, kept, centred), device, [&] {
    return std::vector<std::string>{std::string("ELEMENT=") + element_type(t),
        std::string("C=") + compute_type(cuda::compute_dtype(t)), "V=" + std::to_string(vector),
        "LOADS=" + std::to_string(kept), centred ? "CENTRED=1" : "CENTRED=0"};
  });
}

// Elements a load, so that every row, channel and tensor given begins with a whole one.
int vector_for(const Norm& n, std::initializer_list<const Tensor*> tensors) {
  int v = int(16 / n.x->itemsize());
  for (const Tensor* t : tensors)
    if (*t) v = std::min(v, vector_of((*t)->data(), n.x->itemsize()));
  while (v > 1 && (n.cols % v || n.span % v)) v /= 2;
  return v;
}

struct Shape {
  int threads, kept;
};
// Threads and loads kept, so that a row of `tensors` tensors stays in registers where it fits.
Shape shape_for(int64_t cols, int vector, int most) {
  const int64_t loads = (cols + vector - 1) / vector;
  int threads = std::max(threads_for((loads + 3) / 4), 64), kept = 1;
  while (kept < most && int64_t(threads) * kept < loads) kept *= 2;
  if (int64_t(threads) * kept >= loads) return {threads, kept};
  return {1024, 0};
}

// Why no kernel takes these rows; null where one does.
const char* unfit(const Norm& n) {
  const DType t = n.x->dtype();
  if (!kernels_ready()) return kNoCompiler.reason;
  if (!floating(t)) return kOtherDtype.reason;
  if (!n.x->is_contiguous()) return kStrided.reason;
  if (n.cols < 1) return kNoElements.reason;
  if (n.x->numel() / n.cols >= int64_t(1) << 31) return kTooMany.reason;
  for (const Tensor* w : {&n.weight, &n.bias}) {
    if (!*w) continue;
    if ((*w)->dtype() != t) return kMixedDtypes.reason;
    if ((*w)->device() != n.x->device()) return kMixedDevices.reason;
    if (!(*w)->is_contiguous()) return kStrided.reason;
  }
  return nullptr;
}

Tensor group_backward(
    const Norm& n, const Tensor& g, const Tensor& mean, const Tensor& rstd, Tensor* weight, Tensor* bias) {
  const DType t = n.x->dtype(), compute = cuda::compute_dtype(t);
  const int device = n.x->device().index;
  int64_t rows = n.x->numel() / n.cols, span = n.span, cols = n.cols, groups = n.groups, count = n.x->numel() / span,
          samples = rows / groups;
  int64_t of_sample = count / samples;
  const int v = vector_for(n, {&n.x, &g});
  const CUfunction sums_of = norm_kernel("channels", t, v, 0, true, device),
                   apply = norm_kernel("group", t, v, 0, true, device),
                   gather = norm_kernel("group_weights", t, v, 0, true, device);
  if (!sums_of || !apply || !gather) return {};
  Tensor sums = empty(Dims{2, count}, compute, n.x->device()), dx = empty(n.x->sizes(), t, n.x->device());
  const void *grad = g->data(), *x = n.x->data(), *w = data_or_null(n.weight), *means = mean->data(),
             *rstds = rstd->data();
  void *parts = sums->data(), *to = dx->data();
  void* first[] = {&grad, &x, &parts, &count, &span};
  launch(sums_of, count, 1, std::min(threads_for(span / v), 512), 1, first, device);
  void* second[] = {&grad, &x, &to, &w, &means, &rstds, &parts, &count, &cols, &span, &groups};
  launch(apply, rows, 1, std::max(threads_for(cols / v / 2), 64), 1, second, device);
  if (weight || bias) {
    for (Tensor* one : {weight, bias})
      if (one) *one = empty(Dims{of_sample}, t, n.x->device());
    void *dw = weight ? (*weight)->data() : nullptr, *db = bias ? (*bias)->data() : nullptr;
    void* third[] = {&parts, &means, &rstds, &dw, &db, &samples, &of_sample, &groups};
    launch(gather, (of_sample + 255) / 256, 1, 256, 1, third, device);
  }
  return dx;
}

bool weight_sums(const Norm& n, const Tensor& g, const Tensor& mean, const Tensor& rstd, Tensor* weight, Tensor* bias) {
  const DType t = n.x->dtype(), compute = cuda::compute_dtype(t);
  const int device = n.x->device().index, v = vector_for(n, {&n.x, &g});
  int64_t cols = n.cols, rows = n.x->numel() / cols;
  const int64_t across = (cols + 32 * v - 1) / (32 * v);
  int64_t splits = std::clamp<int64_t>(std::min((132 * 4 + across - 1) / across, (rows + 31) / 32), 1, 128);
  const CUfunction sums = norm_kernel("weights", t, v, 0, n.centred, device),
                   fold = norm_kernel("fold", t, v, 0, n.centred, device);
  if (!sums || !fold) return false;
  Tensor parts = empty(Dims{2, splits, cols}, compute, n.x->device());
  for (Tensor* one : {weight, bias})
    if (one) *one = empty(Dims{cols}, t, n.x->device());
  const void *grad = g->data(), *x = n.x->data(), *means = data_or_null(mean), *rstds = rstd->data();
  void *p = parts->data(), *dw = weight ? (*weight)->data() : nullptr, *db = bias ? (*bias)->data() : nullptr;
  void* first[] = {&grad, &x, &means, &rstds, &p, &rows, &cols};
  launch(sums, across, splits, 32, 8, first, device);
  void* second[] = {&p, &dw, &db, &splits, &cols};
  launch(fold, (cols + 31) / 32, 2, 32, 8, second, device);
  return true;
}

// dx and the sums in one pass over g and x, a block some of the rows; null where a row is too long for it.
Tensor all_backward(
    const Norm& n, const Tensor& g, const Tensor& mean, const Tensor& rstd, Tensor* weight, Tensor* bias) {
  const DType t = n.x->dtype(), compute = cuda::compute_dtype(t);
  int64_t cols = n.cols, rows = n.x->numel() / cols;
  const int device = n.x->device().index, v = vector_for(n, {&n.x, &g, &n.weight});
  const int64_t loads = (cols + v - 1) / v;
  int kept = 1, threads = threads_for(std::min<int64_t>(loads, 512));
  while (kept * v < 8 && int64_t(threads) * kept < loads) kept *= 2;
  while (threads < 1024 && int64_t(threads) * kept < loads) threads *= 2;
  if (int64_t(threads) * kept < loads || (bias && !n.centred)) return {};
  const CUfunction f = norm_kernel("backward_all", t, v, kept, n.centred, device),
                   fold = norm_kernel("fold", t, v, kept, n.centred, device);
  if (!f || !fold) return {};
  int64_t splits = std::min<int64_t>(rows, 132 * std::max(1, 1024 / threads));
  Tensor parts = empty(Dims{n.centred ? 2 : 1, splits, cols}, compute, n.x->device()),
         dx = empty(n.x->sizes(), t, n.x->device());
  for (Tensor* one : {weight, bias})
    if (one) *one = empty(Dims{cols}, t, n.x->device());
  const void *grad = g->data(), *x = n.x->data(), *w = data_or_null(n.weight), *means = data_or_null(mean),
             *rstds = rstd->data();
  void *to = dx->data(), *p = parts->data(), *dw = weight ? (*weight)->data() : nullptr,
       *db = bias ? (*bias)->data() : nullptr;
  void* first[] = {&grad, &x, &to, &w, &means, &rstds, &p, &rows, &cols};
  launch(f, splits, 1, threads, 1, first, device);
  void* second[] = {&p, &dw, &db, &splits, &cols};
  launch(fold, (cols + 31) / 32, bias ? 2 : 1, 32, 8, second, device);
  return dx;
}

}  // namespace

Tensor norm(const Norm& n, double eps, Tensor* mean, Tensor* rstd) {
  if (unfit(n)) return {};
  const DType t = n.x->dtype(), compute = cuda::compute_dtype(t);
  int64_t cols = n.cols, rows = n.x->numel() / cols, span = n.span, groups = n.groups;
  const int device = n.x->device().index;
  Tensor out = empty(n.x->sizes(), t, n.x->device());
  if (n.centred) *mean = empty(Dims{rows}, compute, n.x->device());
  *rstd = empty(Dims{rows}, compute, n.x->device());
  if (!rows) return out;
  const int v = n.span ? vector_for(n, {&n.x}) : vector_for(n, {&n.x, &n.weight, &n.bias});
  const Shape s = shape_for(cols, v, 8);
  const CUfunction f = norm_kernel("forward", t, v, s.kept, n.centred, device);
  if (!f) return {};
  const void *x = n.x->data(), *w = data_or_null(n.weight), *b = data_or_null(n.bias);
  void *to = out->data(), *means = n.centred ? (*mean)->data() : nullptr, *rstds = (*rstd)->data();
  void* arguments[] = {&x, &to, &w, &b, &means, &rstds, &cols, &span, &groups, &eps};
  launch(f, rows, 1, s.threads, 1, arguments, device);
  return out;
}

Outcome<std::tuple<Tensor, Tensor, Tensor>> norm_forward(const Tensor& input, const OptionalTensor& weight,
    const OptionalTensor& bias, int64_t cols, int64_t span, int64_t groups, bool centred, double eps) {
  const Norm n{input, or_null(weight), or_null(bias), cols, span, groups, centred};
  if (const char* why = unfit(n)) return NotMine{why};
  Tensor mean, rstd;
  const Tensor out = norm(n, eps, &mean, &rstd);
  if (!out) return kNotCompiled;
  return std::tuple{out, mean ? mean : rstd, rstd};
}

namespace {

// dx, and where asked for the gradients of weight and bias; null where a kernel could not be compiled.
Tensor rows_backward(
    const Norm& n, const Tensor& g, const Tensor& mean, const Tensor& rstd, Tensor* weight, Tensor* bias) {
  if (n.span) return group_backward(n, g, mean, rstd, weight, bias);
  if (weight || bias)
    if (const Tensor dx = all_backward(n, g, mean, rstd, weight, bias)) return dx;
  const DType t = n.x->dtype();
  int64_t cols = n.cols, rows = n.x->numel() / cols;
  const int device = n.x->device().index, v = vector_for(n, {&n.x, &g, &n.weight});
  const Shape s = shape_for(cols, v, 4);
  const CUfunction f = norm_kernel("backward", t, v, s.kept, n.centred, device);
  if (!f) return {};
  Tensor dx = empty(n.x->sizes(), t, n.x->device());
  const void *grad = g->data(), *x = n.x->data(), *w = data_or_null(n.weight), *means = data_or_null(mean),
             *rstds = rstd->data();
  void* to = dx->data();
  void* arguments[] = {&grad, &x, &to, &w, &means, &rstds, &cols};
  launch(f, rows, 1, s.threads, 1, arguments, device);
  if ((weight || bias) && !weight_sums(n, g, mean, rstd, weight, bias)) return {};
  return dx;
}

}  // namespace

Outcome<std::tuple<Tensor, Tensor, Tensor>> norm_backward(const Tensor& slope, const Tensor& input,
    const OptionalTensor& own_weight, const Tensor& mean, const Tensor& rstd, int64_t cols, int64_t span,
    int64_t groups, bool centred, bool of_weight, bool of_bias) {
  const Norm n{input, or_null(own_weight), {}, cols, span, groups, centred};
  if (const char* why = unfit(n)) return NotMine{why};
  if (slope->dtype() != input->dtype()) return kMixedDtypes;
  if (slope->numel() != input->numel()) return kOtherSizes;
  if (!input->numel()) return kNoElements;
  Tensor weight, bias;
  const Tensor dx =
      rows_backward(n, contiguous(slope), mean, rstd, of_weight ? &weight : nullptr, of_bias ? &bias : nullptr);
  if (!dx) return kNotCompiled;
  for (Tensor* t : {&weight, &bias})
    if (!*t) *t = empty(Dims{0}, dx->dtype(), dx->device());
  return std::tuple{dx, weight, bias};
}

}  // namespace shim::cuda
