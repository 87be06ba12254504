// The gradients of linear layers without Python: one call for all of them, or a weight's gradient added to .grad by the product.
#include <algorithm>
#include <optional>

#include "gemm/accumulate.h"
#include "ops/gemm_settings.h"
#include "python/autograd_python.h"
#include "python/record_node.h"
#include "python/torch_dispatch.h"

namespace shim {

bool RecordNode::adds_weight_gradient(const Tensor& dy) {
  Saved* input = find(ParameterSource{ParameterSource::Argument, 0});
  if (!input || !input->is_tensor) return false;
  const Edge& to = next_edges[size_t(first_edge_[1])];
  return gemm::may_add_weight_gradient(to, dy) &&
         gemm::add_weight_gradient(to, dy, input->tensors[0].unpack(Ref<Node>(this)));
}

bool RecordNode::adds_in_place(const PlannedFormula& f, Grads& grads) {
  if (!plan_.linear || f.inputs.size() != 1 || f.inputs[0] != 1 || GradMode::enabled() ||
      (python_dispatch && dispatch_mode_active()))
    return false;
  return adds_weight_gradient(materialized(0, grads));
}

const Edge* RecordNode::edge_to(int argument) const {
  return wanted(argument) ? &next_edges[size_t(first_edge_[size_t(argument)])] : nullptr;
}

bool RecordNode::describe(RecordedLinear& l) {
  l.node = Ref<Node>(this);
  l.to_input = edge_to(0);
  l.to_weight = edge_to(1);
  l.to_bias = edge_to(2);
  if (l.to_input) l.weight = &find(ParameterSource{ParameterSource::Argument, 1})->tensors[0];
  if (!l.to_weight) return true;
  PyObject* strides = find(ParameterSource{ParameterSource::Strides, 1})->object;
  if (PyTuple_GET_SIZE(strides) != 2) return false;
  l.transposed =
      PyLong_AsLongLong(PyTuple_GET_ITEM(strides, 0)) == 1 && PyLong_AsLongLong(PyTuple_GET_ITEM(strides, 1)) != 1;
  l.input = &find(ParameterSource{ParameterSource::Argument, 0})->tensors[0];
  return true;
}

bool RecordNode::linear_gradients(Grads& grads, Grads& out) {
  RecordedLinear l;
  return gradients_without_python() && first_edge_.size() == 4 && describe(l) &&
         shim::linear_gradients(l, materialized(0, grads), {}, out);
}

gemm::Activation RecordNode::activation() {
  const char* name = PyUnicode_AsUTF8(find(ParameterSource{ParameterSource::Argument, 3})->object);
  return gemm::activation_named(name ? name : "");
}

bool RecordNode::activated_gradients(Grads& grads, Grads& out) {
  const Grads note = CurrentBackward::take_note(this);
  RecordedLinear l;
  if (!note.empty()) {  // the layer after went through the activation
    const bool done =
        grads[0].get() == note[0].get() && describe(l) && shim::linear_gradients(l, note[0], note[1], out);
    CHECK(Kind::Runtime, done, "fused_linear: its gradients cannot be computed");
    return true;
  }
  if (gemm::legacy_linear() || !gradients_without_python() || (grads.size() > 1 && grads[1])) return false;
  const Tensor dy = materialized(0, grads);
  if (!dy->device().is_cuda() || dy->dim() < 2 || !is_plain(dy) || !describe(l)) return false;
  const Tensor kept = find(ParameterSource{ParameterSource::Result, 1})->tensors[0].unpack(l.node);
  if (kept->dtype() != dy->dtype() ||
      !std::equal(kept->sizes().begin(), kept->sizes().end(), dy->sizes().begin(), dy->sizes().end()))
    return false;
  const gemm::SlopeAndSum s = gemm::activation_backward_bias(activation(), dy, kept, l.to_bias != nullptr);
  return s.dz && shim::linear_gradients(l, s.dz, s.db, out);
}

// Whether a matrix is the transpose of one in rows: its gradient lies as it does, which costs nothing.
bool RecordNode::lies_by_columns(int argument) {
  const auto* strides = find(ParameterSource{ParameterSource::Strides, argument});
  const auto* sizes = find(ParameterSource{ParameterSource::Shape, argument});
  if (!strides || !sizes || !PyTuple_Check(strides->object) || !PyTuple_Check(sizes->object) ||
      PyTuple_GET_SIZE(strides->object) != 2)
    return false;
  const auto at = [](PyObject* tuple, Py_ssize_t i) { return PyLong_AsLongLong(PyTuple_GET_ITEM(tuple, i)); };
  return at(strides->object, 0) == 1 && at(strides->object, 1) == at(sizes->object, 0);
}

bool RecordNode::product_gradients(Grads& grads, Grads& out) {
  if (!gradients_without_python() || first_edge_.size() != 3) return false;
  const Tensor dy = materialized(0, grads);
  if (!is_plain(dy) || dy->device().is_meta()) return false;
  Tensor factors[2], found[2];
  bool by_columns[2] = {};
  for (int i : {0, 1}) {
    if (!wanted(i)) continue;
    by_columns[i] = dy->dim() == 2 && lies_by_columns(i);
    factors[i] = find(ParameterSource{ParameterSource::Argument, 1 - i})->tensors[0].unpack(Ref<Node>(this));
    const Tensor& other = factors[i];
    if (!is_plain(other) || other->dtype() != dy->dtype() || other->device() != dy->device() ||
        other->dim() != dy->dim())
      return false;
  }
  std::optional<GilRelease> released;
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
    if (found[i]) out[size_t(first_edge_[size_t(i)])] = std::move(found[i]);
  return true;
}

bool RecordNode::offers(Offer& o) {
  RecordedLinear l;
  if (!plan_.activated || released_ || gemm::legacy_linear() || !gradients_without_python() ||
      activation() != gemm::Activation::gelu_tanh || !describe(l))
    return false;
  for (const Saved& v : values_)
    if (std::any_of(v.tensors.begin(), v.tensors.end(), [](const SavedTensor& t) { return t.has_hooks(); }))
      return false;
  o = {find(ParameterSource{ParameterSource::Result, 1})->tensors[0].unpack(l.node), gemm::Activation::gelu_tanh,
      l.to_bias != nullptr};
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
