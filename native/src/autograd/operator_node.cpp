#include "autograd/operator_node.h"

#include <algorithm>

#include "autograd/graph_reader.h"
#include "autograd/piecewise_constant.h"
#include "core/interpreter_lock.h"
#include "ops/interpreter_function.h"

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

namespace {

// What is saved of a tensor in its place: for formulas that need no more of it.
SavedValue metadata_of(ParameterSource::Kind kind, const Value& a) {
  SavedValue v;
  const TensorImpl* t = a.is_tensor() ? a.t : nullptr;
  const auto saved = [&](IntArrayRef dims) { v.dims.emplace(dims.begin(), dims.end()); };
  if (kind == ParameterSource::Shape)
    saved(t ? t->sizes() : IntArrayRef{});
  else if (!t)
    v.object = object_to_save({});
  else if (kind == ParameterSource::DTypeOf)
    v.object = object_to_save({Value::dtype, int64_t(t->dtype())});
  else if (kind == ParameterSource::DeviceOf)
    v.object = object_to_save(Value(t->device()));
  else if (kind == ParameterSource::Offset)
    v.object = object_to_save({Value::integer, t->storage_offset()});
  else
    saved(t->strides());
  return v;
}

SavedValue saved_argument(const Value& a) {
  SavedValue v;
  v.is_tensor = a.is_tensor();
  v.is_list = a.tag == Value::list && any_tensor(&a, 1, [](TensorImpl&) { return true; });  // None may be among them
  if (v.is_tensor) v.tensors.emplace_back(Tensor(a.t), false);
  for (uint32_t k = 0; v.is_list && k < a.size; ++k)
    v.tensors.emplace_back(a.items[k].is_tensor() ? Tensor(a.items[k].t) : Tensor(), false, k);
  if (!v.is_tensor && !v.is_list) v.object = object_to_save(a);
  return v;
}

// `hidden`: the result has no history. Results have none either whose dtype has no gradient: indices.
SavedValue saved_result(const Answer& all, int index, bool hidden) {
  const bool several = all.kind == Answer::tuple || all.kind == Answer::list;
  const Answer& a = several ? all.parts[index] : all;
  SavedValue v;
  const auto save = [&](const Answer& one, bool history, uint32_t nr) {
    const bool tensor = one.kind == Answer::tensor || one.kind == Answer::argument;
    v.tensors.emplace_back(tensor ? Tensor(one.t) : Tensor(), history, nr);
  };
  if ((a.kind == Answer::tensor || a.kind == Answer::argument) && a.t) {
    v.is_tensor = true;
    save(a, !hidden && (is_floating(a.t->dtype()) || is_complex(a.t->dtype())), uint32_t(index));
  } else if (a.kind == Answer::tuple || a.kind == Answer::list) {
    v.is_list = true;
    for (int64_t k = 0; k < a.i; ++k) save(a.parts[k], !hidden, uint32_t(index + k));
  } else {
    const bool number = a.kind == Answer::integer || a.kind == Answer::boolean;
    v.object =
        object_to_save(number ? Value(a.kind == Answer::integer ? Value::integer : Value::boolean, a.i) : Value());
  }
  return v;
}

}  // namespace

OperatorNode::~OperatorNode() {
  const auto release = [](const SavedValue& v) {
    if (v.object) interpreter_objects.release(v.object);
  };
  for (const SavedValue& v : values_) {
    release(v);
    for (const SavedValue& one : v.several) release(one);
  }
}

void OperatorNode::build(const Value* args, size_t n, bool shown) {
  std::vector<Edge> edges;
  edges.reserve(n);
  first_edge_.clear();
  for (size_t i = 0; i < n; ++i) {
    const Value& v = args[i];
    first_edge_.push_back(int(edges.size()));
    each_tensor(&v, 1, [&](TensorImpl& t) { edges.push_back(gradient_edge(Tensor(&t))); });
    const bool tensor = v.is_tensor(), other = !tensor && v.tag != Value::list;
    has_bias_ |= i == 2 && tensor;
    if (i < 2 && other) numbers = i ? NumberAt::second : NumberAt::first;
    const bool input = i < plan_.has_edges.size() && plan_.has_edges[i];
    if (tensor && !edges.back() && !input && (i || op_.schema.args[0].name != "self"))
      edges.pop_back();
    else if (other && i && input)  // a number first is PyTorch's reversed operator: no input
      edges.emplace_back();
  }
  first_edge_.push_back(int(edges.size()));
  set_next_edges(std::move(edges));
  choose(shown);
}

SavedValue OperatorNode::value(const ParameterSource& s, const Value* args, const Answer* result) const {
  if (s.kind == ParameterSource::Result)
    return saved_result(
        *result, s.index, op_.kind == Operator::Composite && op_.shown_outputs >= 0 && s.index >= op_.shown_outputs);
  const Value& a = args[s.index];
  if (s.kind == ParameterSource::Argument) return saved_argument(a);
  if (a.tag != Value::list) return metadata_of(s.kind, a);
  SavedValue all;  // of every tensor of a list
  for (uint32_t k = 0; k < a.size; ++k) all.several.push_back(metadata_of(s.kind, a.items[k]));
  if (!a.size) all.object = object_to_save({Value::tensors, uint32_t(0), nullptr});
  return all;
}

void OperatorNode::save(const Value* args, const Answer* result) {
  struct Hooks {  // whose are tensors of programs
    int before = SavedHooks::depth();
    ~Hooks() { SavedHooks::depth() = before; }
  } hooks;
  if (op_.traits->saves_tables) SavedHooks::depth() = 0;
  size_t count = 0;
  for (auto* f : chosen_) count += f->sources.size();
  values_.reserve(count);
  for (auto* f : chosen_)
    for (const ParameterSource& s : f->sources) {
      if (s.kind == ParameterSource::Grad || s.kind == ParameterSource::Wanted ||
          (s.kind == ParameterSource::Result && !result) || find(s))
        continue;
      values_.push_back(value(s, args, result));
      values_.back().source = s;
    }
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

std::string OperatorNode::text_of(const SavedValue& v) const {
  std::string text;
  interpreter_functions.see(v.object, [&](const Value& seen) {
    if (seen.tag == Value::text) text.assign(seen.chars, seen.size);
  });
  return text;
}

void OperatorNode::release_saved() {
  if (op_.traits->saves_tables) return;
  const Locked lock;
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
  return std::ranges::all_of(values_, [&](const SavedValue& v) { return read_saved(v, r); });
}

bool OperatorNode::read_saved(const SavedValue& v, GraphReader& r) const {
  r.word(
      v.tensors.size() << 3 | size_t(v.is_list) << 2 | size_t(v.dims.has_value()) << 1 | size_t(v.object != nullptr));
  r.word(v.several.size());
  for (const SavedTensor& t : v.tensors)
    if (!t.read(r)) return false;
  if (v.dims) r.dims(*v.dims);
  bool known = true;
  if (v.object) interpreter_functions.see(v.object, [&](const Value& seen) { known = r.value(seen); });
  if (!known) return false;
  return std::ranges::all_of(v.several, [&](const SavedValue& one) { return read_saved(one, r); });
}

SavedValue* OperatorNode::find_shown(const std::string& what) {
  const auto found = std::ranges::find_if(values_, [&](const SavedValue& v) { return shown(v.source) == what; });
  return found == values_.end() ? nullptr : &*found;
}

SavedValue* OperatorNode::find(const ParameterSource& s) {
  for (SavedValue& v : values_)
    if (v.source.kind == s.kind && v.source.index == s.index) return &v;
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
  Few<bool, 32> done;  // of the arguments
  for (size_t i = 0; i < op_.schema.args.size(); ++i) done.push_back(false);
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
