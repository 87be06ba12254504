#include "dispatch/optimizer_lists.h"

#include "dispatch/call.h"

namespace shim {
namespace {

bool may_step(const Value& v) {
  if (!v.is_tensor() || !of_plain_class(v)) return false;
  const TensorImpl& t = *v.t;
  return !t.device().is_meta() && is_floating(t.dtype()) && !is_sparse(t) && !t.is_inference && !t.has_math_bits();
}

// A mode of the interpreter's or a transform.
bool others_see_operators() {
  return interpreter_calls.functions_are_seen() || gradient_transforms || running_transforms;
}

const Value* entry(const Value& state, const Value& name) {  // of a state; null where it lacks it
  const std::string_view wanted(name.chars, name.size);
  for (uint32_t i = 0; state.tag == Value::dict && i < 2 * state.size; i += 2) {
    const Value& key = state.items[i];
    if (key.tag == Value::text && std::string_view(key.chars, key.size) == wanted) return &state.items[i + 1];
  }
  return nullptr;
}

}  // namespace

std::optional<std::vector<std::vector<Tensor>>> step_lists(
    std::span<const Value> params, std::span<const Value> states, std::span<const Value> names) {
  if (others_see_operators()) return {};
  std::vector<std::vector<Tensor>> columns(names.size() + 2);
  std::vector<Tensor> fresh;
  std::optional<Device> device;
  DType dtype = DType::undefined;
  for (size_t i = 0; i < params.size(); ++i) {
    const Value& p = params[i];
    if (!p.is_tensor()) return {};
    const AutogradMeta* meta = p.t->autograd();
    if (!meta || !meta->grad) continue;
    if (!may_step(p) || !may_step(tensor_value(meta->grad))) return {};
    if (device && !(p.t->device() == *device)) return {};
    if (device && device->is_cuda() && p.t->dtype() != dtype) return {};  // a launch is of one
    device = p.t->device();
    dtype = p.t->dtype();
    if (const Value& own = states[i];
        !names.empty() && (own.tag == Value::none || (own.tag == Value::dict && !own.size))) {
      fresh.emplace_back(p.t);
      continue;
    }
    columns[0].emplace_back(p.t);
    columns[1].push_back(meta->grad);
    for (size_t k = 0; k < names.size(); ++k) {
      const Value* held = entry(states[i], names[k]);
      if (!held || !may_step(*held)) return {};
      columns[k + 2].emplace_back(held->t);
    }
  }
  if (!fresh.empty()) columns = {std::move(fresh)};
  return columns;
}

}  // namespace shim
