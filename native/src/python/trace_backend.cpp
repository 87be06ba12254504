// What is deferred, by a backend of the user's (shim_torch/_impl/compile/backends.py): what it made of it is called.
#include "python/owned_ref.h"
#include "python/trace_rules.h"
#include "python/values.h"
#include "trace/boundary.h"
#include "trace/calls.h"

namespace shim {

using namespace trace;
using Path = std::span<const Session::Deferred>;
using Slots = std::vector<Ref<Storage>>;

PyObject* lowering = nullptr;

namespace {

PyObject* slots_list(const std::vector<TensorSpec>& specs) {
  return list_by(specs.size(), [&](size_t i) { return PyLong_FromUnsignedLong(specs[i].slot); });
}

PyObject* tensors_tuple(const std::vector<TensorSpec>& specs, const Slots& storages) {
  return tuple_by(specs.size(), [&](size_t i) { return wrap(specs[i].over(storages[specs[i].slot])); });
}

Ref<HeldObject> lowered(Session& session, Path path, const Boundary& b, PyObject* tensors) {
  OwnedRef given = owned(slots_list(b.given)), wanted = owned(slots_list(b.wanted)),
           nodes = owned(list_by(path.size(), [&](size_t i) { return described_node(*path[i].node); }));
  auto* const backend = static_cast<PyObject*>(session.tree().backend->object);
  return make<HeldObject>(
      owned(PyObject_CallFunctionObjArgs(lowering, backend, nodes.o, given.o, wanted.o, tensors, nullptr)).o);
}

}  // namespace

bool run_by_backend(Session& session, Path path, Slots& storages) {
  const Boundary b = boundary_of(path, storages);
  Stretch stretch{path.front().node, path.back().node, {}, {}};
  for (const Session::Deferred& d : path) stretch.pass(*d.node);
  for (const Ref<Storage>& s : storages) stretch.outlive.push_back(s && s->hidden() && s->use_count() > 1);
  const OwnedRef tensors = owned(tensors_tuple(b.given, storages));
  const WithoutModes without;
  auto& known = session.tree().lowered;
  if (known.size() >= Tree::kMostPrograms) known.clear();
  const auto found = known.find(stretch);
  const Ref<HeldObject> function = found == known.end() ? lowered(session, path, b, tensors) : found->second;
  if (stretch.kept) known.emplace(std::move(stretch), function);
  std::vector<std::pair<Ref<Storage>, uint32_t>> versions;  // writes were counted when the operators were called
  for (const TensorSpec& s : b.given) versions.emplace_back(storages[s.slot], storages[s.slot]->version().load());
  OwnedRef answer = owned(PyObject_Call(static_cast<PyObject*>(function->object), tensors, nullptr));
  Values values;
  const Value gave = values.of(answer);
  std::vector<Tensor> made;
  each_tensor(&gave, 1, [&](TensorImpl& t) { made.emplace_back(&t); });
  take(b, made, storages);
  for (auto& [storage, version] : versions) storage->version() = version;
  return ++session.programs, true;
}

}  // namespace shim
