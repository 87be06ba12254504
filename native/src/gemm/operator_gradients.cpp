#include "gemm/operator_gradients.h"

#include <algorithm>
#include <optional>

#include "core/interpreter_lock.h"
#include "gemm/accumulate.h"
#include "ops/gemm_settings.h"

namespace shim {

namespace {

constexpr auto kArgument = ParameterSource::Argument;

Tensor unpacked(OperatorNode& n, ParameterSource source) { return n.find(source)->tensors[0].unpack(Ref<Node>(&n)); }

bool describe(OperatorNode& n, RecordedLinear& l) {  // false: the formulas know more
  l.node = Ref<Node>(&n);
  l.to_input = n.edge_to(0);
  l.to_weight = n.edge_to(1);
  l.to_bias = n.edge_to(2);
  if (l.to_input) l.weight = &n.find({kArgument, 1})->tensors[0];
  if (!l.to_weight) return true;
  const auto& strides = n.find({ParameterSource::Strides, 1})->dims;
  if (!strides || strides->size() != 2) return false;
  l.transposed = (*strides)[0] == 1 && (*strides)[1] != 1;
  l.input = &n.find({kArgument, 0})->tensors[0];
  return true;
}

gemm::Activation activation_of(OperatorNode& n) { return gemm::activation_named(n.text_of(*n.find({kArgument, 3}))); }

// Of linear: its weight of two dimensions, its bias one number a feature.
bool plain_gradients(OperatorNode& n, Grads& grads, Grads& out) {
  RecordedLinear l;
  return nobody_looks_on() && n.arguments() == 3 && describe(n, l) &&
         linear_gradients(l, n.materialized(0, grads), {}, out);
}

// Of fused_linear, behind an activation, on CUDA.
bool activated_gradients(OperatorNode& n, Grads& grads, Grads& out) {
  const Grads note = CurrentBackward::take_note(&n);
  RecordedLinear l;
  if (!note.empty()) {  // the layer after went through the activation
    const bool done = grads[0].get() == note[0].get() && describe(n, l) && linear_gradients(l, note[0], note[1], out);
    CHECK(Kind::Runtime, done, "fused_linear: its gradients cannot be computed");
    return true;
  }
  if (gemm::legacy_linear() || !nobody_looks_on() || (grads.size() > 1 && grads[1])) return false;
  const Tensor dy = n.materialized(0, grads);
  if (!dy->device().is_cuda() || dy->dim() < 2 || !is_plain(dy) || !describe(n, l)) return false;
  const Tensor kept = unpacked(n, {ParameterSource::Result, 1});
  if (kept->dtype() != dy->dtype() ||
      !std::equal(kept->sizes().begin(), kept->sizes().end(), dy->sizes().begin(), dy->sizes().end()))
    return false;
  const gemm::SlopeAndSum s = gemm::activation_backward_bias(activation_of(n), dy, kept, l.to_bias != nullptr);
  return s.dz && linear_gradients(l, s.dz, s.db, out);
}

// Whether a matrix is the transpose of one in rows: its gradient lies as it does, which costs nothing.
bool lies_by_columns(OperatorNode& n, int argument) {
  const auto* strides = n.find({ParameterSource::Strides, argument});
  const auto* sizes = n.find({ParameterSource::Shape, argument});
  if (!strides || !sizes || !strides->dims || !sizes->dims || strides->dims->size() != 2) return false;
  return (*strides->dims)[0] == 1 && (*strides->dims)[1] == (*sizes->dims)[0];
}

// Of mm and bmm.
bool product_gradients(OperatorNode& n, Grads& grads, Grads& out) {
  if (!nobody_looks_on() || n.arguments() != 2) return false;
  const Tensor dy = n.materialized(0, grads);
  if (!is_plain(dy) || dy->device().is_meta() || is_complex(dy->dtype())) return false;  // those are of conjugates
  Tensor factors[2], found[2];
  bool by_columns[2] = {};
  for (int i : {0, 1}) {
    if (!n.wanted(i)) continue;
    by_columns[i] = dy->dim() == 2 && lies_by_columns(n, i);
    factors[i] = unpacked(n, {kArgument, 1 - i});
    const Tensor& other = factors[i];
    if (!is_plain(other) || other->dtype() != dy->dtype() || other->device() != dy->device() ||
        other->dim() != dy->dim())
      return false;
  }
  std::optional<Unlocked> released;
  if (dy->device().is_cpu() && dy->numel() > 4096) released.emplace();
  const auto transposed = [](const Tensor& t) { return t ? transpose(*t, 0, 1) : t; };
  if (factors[0] && by_columns[0])
    found[0] = transposed(gemm::matmul(factors[0], transposed(dy)));
  else if (factors[0])
    found[0] = gemm::matmul_backward_input(dy, factors[0]);
  if (factors[1] && by_columns[1])
    found[1] = transposed(gemm::matmul(transposed(dy), factors[1]));
  else if (factors[1])
    found[1] = gemm::matmul_backward_other(dy, factors[1]);
  if ((factors[0] && !found[0]) || (factors[1] && !found[1])) return false;
  for (int i : {0, 1})
    if (found[i]) n.gradient_of(i, out) = std::move(found[i]);
  return true;
}

}  // namespace

bool operator_gradients(OperatorNode& n, Grads& grads, Grads& out) {
  const FormulaPlan& plan = n.plan();
  return (plan.linear && plain_gradients(n, grads, out)) || (plan.activated && activated_gradients(n, grads, out)) ||
         (plan.product && product_gradients(n, grads, out));
}

bool weight_gradient_added(OperatorNode& n, const PlannedFormula& f, Grads& grads) {
  if (!n.plan().linear || f.inputs.size() != 1 || f.inputs[0] != 1 || GradMode::enabled() || operators_are_traced ||
      (onlookers && onlookers() == Onlookers::operators))
    return false;
  const Tensor dy = n.materialized(0, grads);
  const SavedValue* input = n.find({kArgument, 0});
  const Edge* to = n.edge_to(1);
  return input && input->is_tensor && to && gemm::may_add_weight_gradient(*to, dy) &&
         gemm::add_weight_gradient(*to, dy, input->tensors[0].unpack(Ref<Node>(&n)));
}

bool offers_activation(OperatorNode& n, ActivationOffer& o) {
  RecordedLinear l;
  if (!n.plan().activated || n.released() || gemm::legacy_linear() || !nobody_looks_on() ||
      activation_of(n) != gemm::Activation::gelu_tanh || !describe(n, l))
    return false;
  for (const SavedValue& v : n.values())
    if (std::any_of(v.tensors.begin(), v.tensors.end(), [](const SavedTensor& t) { return t.has_hooks(); }))
      return false;
  o = {unpacked(n, {ParameterSource::Result, 1}), gemm::Activation::gelu_tanh, l.to_bias != nullptr};
  if (!o.kept->numel() || !is_plain(o.kept) ||
      (l.to_bias && l.to_bias->node->inputs[l.to_bias->input_nr].sizes.size() != 1))
    return false;
  const auto fits = [&](const SavedTensor* t, int dims) {
    const Tensor own = t ? t->unpack(l.node) : Tensor();
    return !own || (own->dim() == dims && is_plain(own));
  };
  return fits(l.weight, 2) && fits(l.input, o.kept->dim());
}

}  // namespace shim
