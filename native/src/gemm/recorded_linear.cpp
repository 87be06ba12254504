// The backward of a recorded linear layer.
#include <optional>

#include "core/interpreter_lock.h"
#include "gemm/accumulate.h"
#include "gemm/operator_gradients.h"

namespace shim {
namespace {

IntArrayRef sizes_at(const Edge& e) { return e.node->inputs[e.input_nr].sizes; }

// The gradient of a layer's input as that of the product before it, through the activation between: where nobody but the layer
// before gets it, and the one epilogue was measured to be faster.
gemm::SlopeAndSum through_activation(const RecordedLinear& l, const Tensor& dy, const Tensor& weight) {
  if (!l.to_input || !dy->device().is_cuda() || l.to_input->input_nr != 0 || Anomaly::enabled) return {};
  Node* before = l.to_input->node.get();
  auto* layer = dynamic_cast<OperatorNode*>(before);
  if (!layer || !CurrentBackward::only_this_arrives(before)) return {};
  if (!l.node->post_hooks.empty() || !before->pre_hooks.empty() || !before->post_hooks.empty() ||
      !before->tensor_hooks().empty())
    return {};
  ActivationOffer offer;
  if (!offers_activation(*layer, offer)) return {};
  return gemm::linear_backward_input_activated(offer.activation, dy, weight, offer.kept, offer.sums);
}

}  // namespace

bool linear_gradients(const RecordedLinear& l, const Tensor& dy, const Tensor& db, Grads& out) {
  if (dy->dim() < 2 || !is_plain(dy)) return false;
  if (l.to_bias && (sizes_at(*l.to_bias).size() != 1 || sizes_at(*l.to_bias)[0] != dy->sizes().back())) return false;
  Tensor x, w;
  if (l.to_input) {
    w = l.weight->unpack(l.node);
    if (w->dim() != 2 || !is_plain(w)) return false;
  }
  if (l.to_weight) {
    x = l.input->unpack(l.node);
    if (x->dim() != dy->dim() || !is_plain(x)) return false;
  }
  const bool sums = l.to_bias && !db;
  const gemm::SlopeAndSum before = w ? through_activation(l, dy, w) : gemm::SlopeAndSum{};
  if (before.dz) w = {};
  gemm::LinearGradients r;
  bool added = false;
  if (!l.to_weight || !gemm::add_weight_gradient_at_once(*l.to_weight, dy, x, w, sums, &r)) {
    added = l.to_weight && gemm::add_weight_gradient(*l.to_weight, dy, x);
    std::optional<Unlocked> released;
    if (dy->device().is_cpu()) released.emplace();
    r.done = !w && !sums && (added || !x);
    if (!r.done) r = gemm::linear_backward(dy, added ? Tensor() : x, w, l.transposed, sums);
  }
  if (!r.done) {
    CHECK(Kind::Runtime, !added, "linear: its gradients cannot be computed on ", to_string(dy->device()));
    return false;
  }
  const auto place = [&](const Edge* e) -> Tensor& { return out[size_t(e - l.node->next_edges.data())]; };
  if (before.dz) {
    CurrentBackward::leave_note(l.to_input->node.get(), {before.dz, before.db});
    place(l.to_input) = before.dz;
  } else if (r.dx) {
    place(l.to_input) = std::move(r.dx);
  }
  if (r.dw) place(l.to_weight) = std::move(r.dw);
  if (l.to_bias) place(l.to_bias) = db ? db : std::move(r.db);
  return true;
}

}  // namespace shim
