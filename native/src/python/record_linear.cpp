// The gradients of linear without Python: one call for all of them, or a weight's gradient added to .grad by the product.
#include <optional>

#include "gemm/accumulate.h"
#include "gemm/linear.h"
#include "python/override.h"
#include "python/record_node.h"
#include "python/torch_dispatch.h"

namespace shim {
namespace {

bool plain(const Tensor& t) { return !t->pyobj || (!has_torch_function(static_cast<PyObject*>(t->pyobj)) && !SubclassOps::is_special(*t)); }

}  // namespace

bool RecordNode::adds_weight_gradient(const Tensor& dy) {
  Saved* input = find(Source{Source::Argument, 0});
  if (!input || !input->is_tensor) return false;
  const Edge& to = next_edges[size_t(first_edge_[1])];
  return gemm::may_add_weight_gradient(to, dy) && gemm::add_weight_gradient(to, dy, input->tensors[0].unpack(Ref<Node>(this)));
}

bool RecordNode::adds_in_place(const PlannedFormula& f, Grads& grads) {
  if (!plan_.linear || f.inputs.size() != 1 || f.inputs[0] != 1 || GradMode::enabled()) return false;
  return adds_weight_gradient(materialized(0, grads));
}

DimSpan RecordNode::sizes_of(int argument) const {
  const Edge& e = next_edges[size_t(first_edge_[size_t(argument)])];
  return e.node->inputs[e.input_nr].sizes;
}

bool RecordNode::linear_gradients(Grads& grads, Grads& out) {
  if (GradMode::enabled() || forward_gradients() || torch_function_mode_active() || first_edge_.size() != 4) return false;
  Tensor dy = materialized(0, grads), x, w;
  if (dy->dim() < 2 || !plain(dy)) return false;
  bool transposed = false;
  if (wanted(2) && (sizes_of(2).size() != 1 || sizes_of(2)[0] != dy->sizes().back())) return false;
  if (wanted(0)) {
    w = find(Source{Source::Argument, 1})->tensors[0].unpack(Ref<Node>(this));
    if (w->dim() != 2 || !plain(w)) return false;
  }
  if (wanted(1)) {
    PyObject* strides = find(Source{Source::Strides, 1})->object;
    if (PyTuple_GET_SIZE(strides) != 2) return false;
    transposed = PyLong_AsLongLong(PyTuple_GET_ITEM(strides, 0)) == 1 && PyLong_AsLongLong(PyTuple_GET_ITEM(strides, 1)) != 1;
    x = find(Source{Source::Argument, 0})->tensors[0].unpack(Ref<Node>(this));
    if (x->dim() != dy->dim() || !plain(x)) return false;
  }
  gemm::LinearGradients r;
  bool added = false;
  if (!wanted(1) || !gemm::add_weight_gradient_at_once(next_edges[size_t(first_edge_[1])], dy, x, w, wanted(2), &r)) {
    added = wanted(1) && adds_weight_gradient(dy);
    std::optional<GilRelease> released;
    if (dy->device().is_cpu()) released.emplace();
    r = gemm::linear_backward(dy, added ? Tensor() : x, w, transposed, wanted(2));
  }
  if (!r.done) {
    CHECK(Kind::Runtime, !added, "linear: its gradients cannot be computed on ", to_string(dy->device()));
    return false;
  }
  if (r.dx) out[size_t(first_edge_[0])] = std::move(r.dx);
  if (r.dw) out[size_t(first_edge_[1])] = std::move(r.dw);
  if (r.db) out[size_t(first_edge_[2])] = std::move(r.db);
  return true;
}

}  // namespace shim
