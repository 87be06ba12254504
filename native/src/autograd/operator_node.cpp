#include "autograd/operator_node.h"

#include <algorithm>

#include "autograd/graph_reader.h"
#include "autograd/piecewise_constant.h"

namespace shim {

namespace {

const char* kFreed =
    "Trying to backward through the graph a second time (or directly access saved tensors after they have already been "
    "freed). Saved intermediate values of the graph are "
    "freed when you call .backward() or autograd.grad(). Specify retain_graph=True if you need to backward through the "
    "graph a second time or if you need to access saved "
    "tensors after calling backward.";

// Of the names of Traits::gradient_name, between which there is a '/'.
std::string chosen(std::string_view names, NumberAt numbers) {
  for (size_t skip = size_t(numbers), end; skip && (end = names.find('/')) != names.npos; --skip)
    names.remove_prefix(end + 1);
  return std::string(names.substr(0, names.find('/')));
}

}  // namespace

bool operators_are_traced = false;

bool nobody_looks_on() {
  return !operators_are_traced && !GradMode::enabled() && !forward_gradients() &&
         !(onlookers && onlookers() != Onlookers::none);
}

void OperatorNode::check_kept() const { CHECK(Kind::Runtime, !released_, kFreed); }

// PyTorch's linear is a product of matrices; of more dims, or of one, a view of it.
std::string OperatorNode::name() const {
  if (renamed) return chosen(renamed, numbers);
  if (op_.traits->gradient_name) return chosen(op_.traits->gradient_name, numbers);
  if (!plan_.linear || inputs.empty()) return plan_.name;
  const size_t dims = inputs[0].sizes.size();
  if (dims == 2) return has_bias_ ? "AddmmBackward0" : "MmBackward0";
  if (has_bias_) return "ViewBackward0";
  return dims == 0 ? "DotBackward0" : dims == 1 ? "SqueezeBackward4" : "UnsafeViewBackward0";
}

Tensor OperatorNode::flat(const Tensor& gradient, const Edge& input) const {
  return tied_to(gradient, input, plan_.name.substr(0, plan_.name.size() - 1) + "Backward0");
}

Tensor OperatorNode::materialized(size_t i, Grads& grads) const {
  if (!grads[i]) grads[i] = engine_ops().zeros(inputs[i].sizes, inputs[i].dtype, inputs[i].device);
  return grads[i];
}

const Edge* OperatorNode::edge_to(int argument) const {
  return wanted(argument) ? &next_edges[size_t(first_edge_[size_t(argument)])] : nullptr;
}

void OperatorNode::give_tangent(uint32_t output_nr, const Tensor& tangent, uint64_t level) {
  for (SavedValue& v : values_)
    for (SavedTensor& t : v.tensors) t.give_tangent(output_nr, tangent, level);
}

void OperatorNode::release_saved() {
  for (SavedValue& v : values_)  // the entries stay: grad_fn._raw_saved_x points to them
    for (SavedTensor& t : v.tensors) {
      t.reset();
      released_ = true;  // without a saved tensor running again is harmless
    }
}

void OperatorNode::traverse(Visitor& visitor) const {
  Node::traverse(visitor);
  for (const SavedValue& v : values_) {
    for (const SavedTensor& t : v.tensors) t.traverse(visitor);
    visitor.python(v.object);
  }
}

bool OperatorNode::read(GraphReader& r) const {
  if (!op_.recorded || op_.overridden || released_) return false;
  r.pointer(&op_);
  r.word(chosen_.size());
  for (const PlannedFormula* f : chosen_) r.pointer(f);
  for (int edge : first_edge_) r.word(uint64_t(edge));
  for (const SavedValue& v : values_) {
    r.word(
        v.tensors.size() << 3 | size_t(v.is_list) << 2 | size_t(v.dims.has_value()) << 1 | size_t(v.object != nullptr));
    for (const SavedTensor& t : v.tensors)
      if (!t.read(r)) return false;
    if (v.dims) r.dims(*v.dims);
    if (v.object && !read_object(v, r)) return false;
  }
  return true;
}

SavedValue* OperatorNode::find_shown(const std::string& what) {
  for (size_t i = 0; i < keys_.size(); ++i) {
    if (shown(keys_[i]) == what) return &values_[i];
  }
  return nullptr;
}

SavedValue* OperatorNode::find(const ParameterSource& s) {
  for (size_t i = 0; i < keys_.size(); ++i)
    if (keys_[i].kind == s.kind && keys_[i].index == s.index) return &values_[i];
  return nullptr;
}

std::string OperatorNode::result_name(int index) const {
  return op_.schema.returns.size() > 1 ? "result" + std::to_string(index) : "result";
}

std::string OperatorNode::shown(const ParameterSource& s) const {
  if (s.kind == ParameterSource::Result) return result_name(s.index);
  const std::string& argument = op_.schema.args[size_t(s.index)].name;
  return s.kind == ParameterSource::Argument  ? argument
         : s.kind == ParameterSource::Shape   ? argument + "_sym_sizes"
         : s.kind == ParameterSource::Strides ? argument + "_sym_strides"
                                              : "";
}

bool OperatorNode::wanted(int argument) const {
  for (int e = first_edge_[size_t(argument)]; e < first_edge_[size_t(argument) + 1]; ++e)
    if (next_edges[size_t(e)]) return true;
  return false;
}

void OperatorNode::choose(bool shown) {
  std::vector<bool> done(op_.schema.args.size());
  auto add = [&](const PlannedFormula& f) {  // one that serves several inputs is called when any of them is wanted
    if (std::none_of(f.inputs.begin(), f.inputs.end(), [&](int i) { return wanted(i) && !done[size_t(i)]; })) return;
    chosen_.push_back(&f);
    for (int i : f.inputs) done[size_t(i)] = true;
  };
  if (shown)
    for (auto& f : plan_.shown) add(f);
  for (auto& f : plan_.fused) {
    bool all = std::all_of(f.inputs.begin(), f.inputs.end(), [&](int i) { return wanted(i) && !done[size_t(i)]; });
    if (!all) continue;
    chosen_.push_back(&f);
    for (int i : f.inputs) done[size_t(i)] = true;
  }
  for (auto& f : plan_.single) add(f);
}

}  // namespace shim
