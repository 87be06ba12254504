// History of the operators of the table: which calls are recorded, and with what node.
#include <algorithm>

#include "dispatch/record_node.h"
#include "autograd/attributes.h"
#include "autograd/nodes.h"
#include "dispatch/call.h"

namespace shim {
namespace {

std::vector<Edge> edges_of(const Value* args, size_t n) {
  std::vector<Edge> edges;
  each_tensor(args, n, [&](TensorImpl& t) { edges.push_back(gradient_edge(Tensor(&t))); });
  return edges;
}

Ref<OperatorNode> connected(Operator& op, const Value* args, size_t n) {
  Ref<OperatorNode> node = make<RecordNode>(op, plan_of(op));
  node->build(args, n, __builtin_expect(python_dispatch, 0) && !node->plan().shown.empty() && wants_dispatch(args, n));
  return node;
}

}  // namespace

void forbid_derivative(const Tensor& out, const std::string& op, const Value* args, size_t n) {
  auto node = make<Refuses>(
      "torch::autograd::NotImplemented", Kind::Runtime, str("derivative for ", op, " is not implemented"));
  node->set_next_edges(edges_of(args, n));
  rebase_history(out, node);
}

Ref<Node> prepare_history(Operator& op, const Value* args, size_t n) {
  if (op.formulas.empty() && op.fused.empty()) return {};
  Ref<OperatorNode> node = connected(op, args, n);
  node->save(args, nullptr);
  return node;
}

void record_history(
    Operator& op, const Value* args, size_t n, const Answer& result, bool inplace, const Ref<Node>& prepared) {
  std::vector<Tensor> outputs;
  each_tensor(result, [&](TensorImpl& t) { outputs.emplace_back(&t); });
  if (std::none_of(outputs.begin(), outputs.end(), [](auto& t) { return can_have_grad(*t); })) return;
  if ((op.schema.name == "silu" || op.schema.name == "scatter_reduce") && is_complex(outputs[0]->dtype()))
    throw Error(
        Kind::Runtime, op.schema.name + " does not support automatic differentiation for outputs with complex dtype.");
  if (op.traits->never_differentiable && op.formulas.empty()) return;
  const bool shown =
      op.kind == Operator::Composite && !op.shown.empty();  // recorded for what __torch_dispatch__ saw as one
  if (op.formulas.empty() && op.fused.empty() && !shown) {
    if (!op.recorded) return;  // operators of torch.library: no formula, no history, as PyTorch
    const Traits& t = *op.traits;
    // An operator that PyTorch has no formulas for at all has a node and an error of their own.
    const bool unknown = t.gradient_name && std::string_view(t.gradient_name) == "torch::autograd::NotImplemented";
    const std::string name = t.forward_error_name     ? t.forward_error_name
                             : op.schema.ns == "aten" ? op.schema.name
                                                      : op.schema.qualified();
    auto node = make<Refuses>(t.gradient_name ? t.gradient_name : plan_of(op).name,
        unknown ? Kind::Runtime : Kind::NotImplemented,
        unknown ? str("derivative for ", op.schema.qualified(), " is not implemented")
                : str("the derivative for '", name, "' is not implemented."));
    node->set_next_edges(edges_of(args, n));
    for (auto& t : outputs)
      if (can_have_grad(*t)) set_history(t, node);
    return;
  }
  Ref<OperatorNode> node(static_cast<OperatorNode*>(prepared.get()));
  if (!node) node = connected(op, args, n);
  if (inplace) {
    node->save(args, &result);
    rebase_history(outputs[0], node);
    return;
  }
  if (shown && op.shown_outputs >= 0 && outputs.size() > size_t(op.shown_outputs))
    outputs.resize(size_t(op.shown_outputs));
  for (auto& t : outputs) {
    if (can_have_grad(*t))
      set_history(t, node);
    else
      node->add_input(*t);
  }
  node->save(args, &result);  // after history: a saved result knows which output it is
}

void name_history(const Operator& op, const Value* args, size_t n, const Answer& result) {
  const NumberAt numbers = n > 1 && !args[1].is_tensor() ? NumberAt::second
                           : args[0].is_tensor()         ? NumberAt::none
                                                         : NumberAt::first;
  each_tensor(result, [&](TensorImpl& t) {
    auto* node = t.autograd() ? dynamic_cast<OperatorNode*>(t.autograd()->grad_fn.get()) : nullptr;
    if (!node) return;
    const bool given = any_tensor(args, n, [&](TensorImpl& a) {  // it is an argument's own
      return !(&a == &t && op.schema.is_mutable()) && a.autograd() && a.autograd()->grad_fn.get() == node;
    });
    if (given) return;
    node->renamed = op.traits->gradient_name;
    node->numbers = numbers;
  });
}

}  // namespace shim
