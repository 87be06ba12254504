#include "dispatch/record_node.h"

#include "core/interpreter_lock.h"
#include "gemm/operator_gradients.h"
#include "ops/interpreter_function.h"

namespace shim {

Unpacked::~Unpacked() {
  for (void* o : objects_) interpreter_objects.release(o);
}

Value Unpacked::of(Tensor t) {
  if (!t) return {};
  return tensor_value(tensors_.emplace_back(std::move(t)));
}

Value Unpacked::object_of(const SavedValue& v) {
  if (!v.dims) return held_value(v.object);
  return held_value(objects_.emplace_back(interpreter_functions.sizes(*v.dims)));
}

Value Unpacked::of(SavedValue& v) {
  if (v.is_tensor) return of(v.tensors[0].unpack(owner_));
  const size_t n = v.is_list ? v.tensors.size() : v.several.size();
  if (!v.is_list && !n) return object_of(v);
  Value* const items = room.take(n);
  for (size_t k = 0; k < n; ++k) items[k] = v.is_list ? of(v.tensors[k].unpack(owner_)) : object_of(v.several[k]);
  return {Value::tensors, uint32_t(n), items};
}

Value RecordNode::gradient(int index, Grads& grads, Unpacked& given) {
  if (plan_.list_result) {  // all of them, zeros where nothing came
    Value* const items = given.room.take(grads.size());
    for (size_t i = 0; i < grads.size(); ++i) items[i] = given.of(materialized(i, grads));
    return {Value::tensors, uint32_t(grads.size()), items};
  }
  if (size_t(index) >= grads.size()) return {};
  return given.of(index == 0 ? materialized(0, grads) : grads[size_t(index)]);
}

void RecordNode::call(const PlannedFormula& f, Grads& grads, Grads& out) {
  Unpacked given(*this);
  const auto wanted_of_inputs = [&] {
    Value* const items = given.room.take(f.inputs.size());
    for (size_t i = 0; i < f.inputs.size(); ++i) items[i] = {Value::boolean, wanted(f.inputs[i])};
    return Value(Value::list, uint32_t(f.inputs.size()), items);
  };
  Value* const args = given.room.take(f.sources.size());
  for (size_t i = 0; i < f.sources.size(); ++i) {
    const ParameterSource& s = f.sources[i];
    args[i] = s.kind == ParameterSource::Grad     ? gradient(s.index, grads, given)
              : s.kind == ParameterSource::Wanted ? wanted_of_inputs()
                                                  : given.of(*find(s));
  }
  if (!f.formula->function) interpreter_functions.read_formulas(op_);  // the first call of the record's code
  interpreter_functions.call(f.formula->function, {args, f.sources.size()}, [&](const Value& r) {
    if (f.inputs.size() == 1) return take(f.inputs[0], r, out);
    CHECK(Kind::Type, r.tag == Value::list, "a fused gradient gives a sequence");
    for (size_t i = 0; i < f.inputs.size() && i < r.size; ++i) take(f.inputs[i], r.items[i], out);
  });
  if (f.inputs.size() != 1) return;
  const size_t edge = size_t(first_edge_[size_t(f.inputs[0])]);
  if (f.formula->flat && GradMode::enabled() && edge < out.size() && out[edge] && next_edges[edge])
    out[edge] = flat(out[edge], next_edges[edge]);
}

void RecordNode::take(int argument, const Value& given, Grads& out) {
  const int first = first_edge_[size_t(argument)], last = first_edge_[size_t(argument) + 1];
  if (given.is_tensor()) {
    if (first < last) out[size_t(first)] = Tensor(given.t);
  } else if (given.tag == Value::list) {
    for (int e = first; e < last && uint32_t(e - first) < given.size; ++e)
      if (const Value& item = given.items[e - first]; item.is_tensor()) out[size_t(e)] = Tensor(item.t);
  }
}

Grads RecordNode::apply(Grads&& grads) {
  const Locked lock;
  check_kept();
  Grads out(next_edges.size());
  if (operator_gradients(*this, grads, out)) return out;
  for (auto* f : chosen_)
    if (!weight_gradient_added(*this, *f, grads)) call(*f, grads, out);
  return out;
}

}  // namespace shim
