// What is deferred, by a backend of the user's: a GraphModule of it is made once for a stretch of the tree and what of it is wanted
// (shim_torch/_impl/compile/backends.py), and what the backend made of that is called.
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
  OwnedRef given = owned(slots_list(b.given)), wanted = owned(slots_list(b.wanted));
  OwnedRef nodes = owned(list_by(path.size(), [&](size_t i) { return described_node(*path[i].node); }));
  OwnedRef made = owned(PyObject_CallFunctionObjArgs(
      lowering, static_cast<PyObject*>(session.tree().backend->object), nodes.o, given.o, wanted.o, tensors, nullptr));
  return make<HeldObject>(made.o);
}

}  // namespace

bool run_by_backend(Session& session, Path path, Slots& storages) {
  const Boundary b = boundary_of(path, storages);
  Stretch stretch{path.front().node, path.back().node, {}, {}};
  for (const Ref<Storage>& s : storages) stretch.outlive.push_back(s && s->hidden() && s->use_count() > 1);
  OwnedRef tensors = owned(tensors_tuple(b.given, storages));
  WithoutModes without;
  auto& known = session.tree().lowered;
  auto found = known.find(stretch);
  if (found == known.end()) found = known.emplace(stretch, lowered(session, path, b, tensors)).first;
  std::vector<std::pair<Ref<Storage>, uint32_t>> versions;  // writes were counted when the operators were called
  for (const TensorSpec& s : b.given) versions.emplace_back(storages[s.slot], storages[s.slot]->version().load());
  OwnedRef answer = owned(PyObject_Call(static_cast<PyObject*>(found->second->object), tensors, nullptr));
  Values values;
  const Value gave = values.of(answer);
  std::vector<Tensor> made;
  each_tensor(&gave, 1, [&](TensorImpl& t) { made.emplace_back(&t); });
  take(b, made, storages);
  for (auto& [storage, version] : versions) storage->version() = version;
  ++session.programs;
  return true;
}

}  // namespace shim
