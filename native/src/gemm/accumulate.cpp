#include "gemm/accumulate.h"

#include "autograd/nodes.h"
#include "gemm/operands.h"
#include "ops/gemm_settings.h"

namespace shim::gemm {
namespace {

// The leaf's .grad, if it may be added to in place.
Tensor gradient_to_add_to(const Edge& to) {
  auto* end = dynamic_cast<AccumulateGrad*>(to.node.get());
  if (!end || GradMode::enabled() || Anomaly::enabled || CurrentBackward::has_targets()) return {};
  if (!end->pre_hooks.empty() || !end->post_hooks.empty() || !end->tensor_hooks().empty()) return {};
  AutogradMeta* leaf = end->variable()->autograd();
  if (!leaf || !leaf->grad || !leaf->post_accumulate.empty()) return {};
  const Tensor& grad = leaf->grad;
  return grad->requires_grad() || !grad->is_contiguous() ? Tensor() : grad;
}

bool shares(const TensorImpl& a, const TensorImpl& b) { return a.storage().get() == b.storage().get(); }

bool fits(const Tensor& grad, const Tensor& dy, const Tensor& x) {
  return x->dim() == dy->dim() && x->dtype() == grad->dtype() && x->device() == grad->device() &&
         grad->sizes_data()[1] == x->sizes().back() && !shares(*grad, *x);
}

}  // namespace

bool may_add_weight_gradient(const Edge& to, const Tensor& dy) {
  Tensor grad = gradient_to_add_to(to);
  if (!grad || grad->dim() != 2 || dy->dim() < 2 || !grad->numel()) return false;
  const DType t = grad->dtype();
  const bool served =
      t == DType::f32 || t == DType::f64 || (grad->device().is_cuda() && (t == DType::f16 || t == DType::bf16));
  return served && dy->dtype() == t && dy->device() == grad->device() && grad->sizes_data()[0] == dy->sizes().back() &&
         !shares(*grad, *dy) && !legacy_linear() && can_launch(grad->device(), t);
}

bool add_weight_gradient(const Edge& to, const Tensor& dy, const Tensor& x) {
  if (!may_add_weight_gradient(to, dy)) return false;
  Tensor grad = gradient_to_add_to(to);
  const DType t = grad->dtype();
  if (!fits(grad, dy, x)) return false;
  Matrix rows = flip(folded(dy, false)), inputs = folded(x, false);
  if (inputs.rows > 0) {
    Call c = describe(rows, inputs,
        Matrix{.data = grad->data(), .dtype = t, .rows = rows.rows, .cols = inputs.cols, .ld = inputs.cols});
    c.problem.accumulate = true;
    if (!launch(grad->device(), c.problem, c.buffers, 1, 1)) return false;
  }
  grad->bump_version();
  return true;
}

bool add_weight_gradient_at_once(
    const Edge& to, const Tensor& dy, const Tensor& x, const Tensor& weight, bool sums, LinearGradients* r) {
  if (!dy->device().is_cuda() || !may_add_weight_gradient(to, dy)) return false;
  Tensor grad = gradient_to_add_to(to);
  if (!fits(grad, dy, x) || (weight && (weight->dtype() != dy->dtype() || shares(*grad, *weight)))) return false;
  if (!linear_backward_at_once(dy, x, weight, sums, grad, r)) return false;
  grad->bump_version();
  return true;
}

}  // namespace shim::gemm
