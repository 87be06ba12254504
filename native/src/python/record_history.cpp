// History of the operators of the table: which calls are recorded, and with what node.
#include <algorithm>

#include "autograd/attributes.h"
#include "autograd/nodes.h"
#include "python/operator.h"
#include "python/autograd_python.h"
#include "python/dispatch.h"
#include "python/record_node.h"
#include "python/tensors_in.h"
#include "python/torch_dispatch.h"

namespace shim {
namespace {

std::vector<Edge> edges_of(PyObject* const* args, size_t n) {
  std::vector<Edge> edges;
  each_tensor(args, n, [&](TensorImpl& t) { edges.push_back(gradient_edge(Tensor(&t))); });
  return edges;
}

}  // namespace

bool any_requires_grad(PyObject* const* args, size_t n) {
  if (__builtin_expect(python_dispatch, 0) && below_python_dispatch()) return false;
  return any_tensor(args, n, [](TensorImpl& t) { return t.requires_grad(); });
}

void forbid_derivative(const Tensor& out, const std::string& op, PyObject* const* args, size_t n) {
  auto node = make<Refuses>(
      "torch::autograd::NotImplemented", Kind::Runtime, str("derivative for ", op, " is not implemented"));
  node->set_next_edges(edges_of(args, n));
  rebase_history(out, node);
}

Ref<Node> prepare_history(Operator& op, PyObject* const* args, size_t n) {
  if (op.formulas.empty() && op.fused.empty()) return {};
  auto node = make<RecordNode>(op, plan_of(op));
  node->build(args, n);
  node->save(args, nullptr);
  return node;
}

void record_history(
    Operator& op, PyObject* const* args, size_t n, PyObject* result, bool inplace, const Ref<Node>& prepared) {
  std::vector<Tensor> outputs;
  each_tensor(result, [&](TensorImpl& t) { outputs.emplace_back(&t); });
  if (std::none_of(outputs.begin(), outputs.end(), [](auto& t) { return can_have_grad(*t); })) return;
  if ((op.schema.name == "silu" || op.schema.name == "scatter_reduce") && is_complex(outputs[0]->dtype()))
    throw Error(
        Kind::Runtime, op.schema.name + " does not support automatic differentiation for outputs with complex dtype.");
  if (op.traits->never_differentiable && op.formulas.empty()) return;
  FormulaPlan& plan = plan_of(op);
  const bool shown =
      op.kind == Operator::Composite && !op.shown.empty();  // recorded for what __torch_dispatch__ saw as one
  if (op.formulas.empty() && op.fused.empty() && !shown) {
    if (!op.recorded) return;  // operators of torch.library: no formula, no history, as PyTorch
    auto node = make<Refuses>("NotImplemented", Kind::NotImplemented,
        str("the derivative for '", op.schema.qualified(), "' is not implemented."));
    node->set_next_edges(edges_of(args, n));
    for (auto& t : outputs)
      if (can_have_grad(*t)) set_history(t, node);
    return;
  }
  Ref<RecordNode> node(static_cast<RecordNode*>(prepared.get()));
  if (!node) {
    node = make<RecordNode>(op, plan);
    node->build(args, n);
  }
  if (inplace) {
    node->save(args, result);
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
  node->save(args, result);  // after history: a saved result knows which output it is
}

void record_history(Operator& op, PyObject* const* args, size_t n, PyObject* result, bool inplace) {
  record_history(op, args, n, result, inplace, Ref<Node>());
}

bool raw_saved_attribute(Node* node, const char* name, std::vector<SavedTensor*>* found, bool* list) {
  auto* record = dynamic_cast<RecordNode*>(node);
  SavedValue* v = record ? record->find_shown(std::string(name)) : nullptr;
  if (!v || (!v->is_tensor && !v->is_list)) return false;
  for (SavedTensor& t : v->tensors) found->push_back(&t);
  *list = v->is_list;
  return true;
}

PyObject* saved_attribute(Node* node, const char* name) {
  auto* record = dynamic_cast<RecordNode*>(node);
  return record ? record->saved(name) : nullptr;
}

// The history of a composite's result gets PyTorch's name of it, unless it is an argument's own.
void name_history(const Operator& op, PyObject* const* args, size_t n, PyObject* result) {
  const NumberAt numbers = n > 1 && !is_tensor(args[1]) ? NumberAt::second
                           : is_tensor(args[0])         ? NumberAt::none
                                                        : NumberAt::first;
  each_tensor(result, [&](TensorImpl& t) {
    auto* node = t.autograd() ? dynamic_cast<OperatorNode*>(t.autograd()->grad_fn.get()) : nullptr;
    if (!node) return;
    bool given = false;
    each_tensor(args, n, [&](TensorImpl& a) {
      given |= !(&a == &t && op.schema.is_mutable()) && a.autograd() && a.autograd()->grad_fn.get() == node;
    });
    if (given) return;
    node->renamed = op.traits->gradient_name;
    node->numbers = numbers;
  });
}

}  // namespace shim
