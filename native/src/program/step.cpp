#include "program/step.h"

#include <algorithm>

namespace shim::program {

TensorRef TensorRef::of(const TensorImpl& t, int32_t storage) {
  TensorRef r;
  r.storage = storage;
  r.dtype = t.dtype();
  r.device = t.device();
  r.sizes.assign(t.sizes().begin(), t.sizes().end());
  r.strides.assign(t.strides().begin(), t.strides().end());
  r.offset = t.storage_offset();
  r.is_conj = t.is_conj;
  r.is_neg = t.is_neg;
  r.wrapped_number = t.wrapped_number;
  return r;
}

void rename(Value& v, int32_t from, int32_t to) {
  if (auto* list = std::get_if<List>(&v.is))
    for (Value& i : *list) rename(i, from, to);
  else if (auto* r = std::get_if<TensorRef>(&v.is); r && r->storage == from)
    r->storage = to;
}

bool writes(const Step& step, size_t argument) {
  const auto& alias = step.op->schema.args[argument].alias;
  return alias && alias->write;
}

bool writes(const Step& step) {
  for (size_t i = 0; i < step.args.size(); ++i)
    if (writes(step, i)) return true;
  return false;
}

bool reads(const Step& step, int32_t storage) {
  bool found = false;
  for (const Value& v : step.args) each_tensor(v, [&](const TensorRef& r) { found = found || r.storage == storage; });
  return found;
}

bool changes(const Step& step, int32_t storage) {
  bool found = false;
  each_written(step, [&](int32_t s) { found = found || s == storage; });
  return found;
}

bool fills(const Operator& op) {
  const std::string_view name = op.schema.name;
  return op.schema.ns == "aten" && (name == "zero_" || (name == "fill_" && op.schema.overload == "Scalar"));
}

std::vector<bool> filled_first(const Steps& steps) {
  std::vector<bool> met(steps.storages.size()), filled(steps.storages.size());
  for (const Step& step : steps.steps) {
    if (const TensorRef* r = tensor(step, 0); r && fills(*step.op) && !met[size_t(r->storage)]) {
      const size_t s = size_t(r->storage);
      filled[s] = !r->offset && fills_storage(r->sizes, r->strides, itemsize(r->dtype), steps.storages[s].nbytes);
    }
    for (const Value& v : step.args) each_tensor(v, [&](const TensorRef& r) { met[size_t(r.storage)] = true; });
  }
  return filled;
}

Tensor tensor_of(const TensorRef& r, Storages storages) {
  const Ref<Storage>& storage = storages[size_t(r.storage)];
  CHECK(Kind::Runtime, storage, "a program reads a storage that is not there yet");
  Tensor t = make<TensorImpl>(storage, r.dtype, r.sizes, r.strides, r.offset);
  t->is_conj = r.is_conj;
  t->is_neg = r.is_neg;
  t->wrapped_number = r.wrapped_number;
  return t;
}

Ref<Storage> storage_as(const Tensor& t, const TensorRef& expected) {
  CHECK(Kind::Runtime, t->dtype() == expected.dtype && std::ranges::equal(t->sizes(), expected.sizes),
      "a step of a program gave a tensor of sizes ", bracketed(t->sizes()), " where its trace has ",
      bracketed(expected.sizes));
  bool same = t->storage_offset() == expected.offset;
  for (size_t d = 0; d < expected.sizes.size(); ++d)
    same = same && (expected.sizes[d] == 1 || t->strides()[d] == expected.strides[d]);
  if (same) return t->storage();
  if (!t->numel()) return t->storage();
  laid_otherwise = true;
  int64_t last = expected.offset;
  for (size_t d = 0; d < expected.sizes.size(); ++d) last += (expected.sizes[d] - 1) * expected.strides[d];
  Ref<Storage> made = allocate(size_t(last + 1) * itemsize(expected.dtype), t->device());
  copy_(make<TensorImpl>(made, expected.dtype, expected.sizes, expected.strides, expected.offset), t);
  return made;
}

void run_steps(const Steps& s, Storages storages, std::span<const Scalar> parameters) {
  CHECK(Kind::Runtime, storages.size() == s.storages.size(), "a program of ", s.storages.size(), " storages got ",
      storages.size());
  CHECK(Kind::Runtime, parameters.size() == s.parameters.size(), "a program of ", s.parameters.size(), " numbers got ",
      parameters.size());
  for (size_t i = 0; i < storages.size(); ++i)
    if (s.storages[i].origin == StorageSlot::constant) storages[i] = s.storages[i].constant_storage;
  for (const Step& step : s.steps) run_step(step, storages, parameters);
}

}  // namespace shim::program
