// What is deferred, by a backend of the user's: a GraphModule of it is made once for a stretch of the tree and what of it is wanted
// (shim_torch/_impl/compile/backends.py), and what the backend made of that is called.
#include "python/owned_ref.h"
#include "python/trace.h"
#include "python/trace_modes.h"
#include "python/trace_rules.h"
#include "trace/boundary.h"

namespace shim {

using namespace trace;
using Path = std::span<const Session::Deferred>;
using Slots = std::vector<Ref<Storage>>;

PyObject* lowering = nullptr;

namespace {

PyObject* slots_list(const std::vector<TensorSpec>& specs) {
  OwnedRef list = owned(PyList_New(0));
  for (const TensorSpec& s : specs) {
    OwnedRef slot = owned(PyLong_FromUnsignedLong(s.slot));
    if (PyList_Append(list, slot) < 0) throw PythonError();
  }
  return list.give();
}

PyObject* tensors_tuple(const std::vector<TensorSpec>& specs, const Slots& storages) {
  OwnedRef tuple = owned(PyTuple_New(Py_ssize_t(specs.size())));
  for (size_t i = 0; i < specs.size(); ++i)
    PyTuple_SET_ITEM(tuple.o, Py_ssize_t(i), wrap(specs[i].over(storages[specs[i].slot])));
  return tuple.give();
}

Ref<HeldObject> lowered(Session& session, Path path, const Boundary& b, PyObject* tensors) {
  OwnedRef nodes = owned(PyList_New(0)), given = owned(slots_list(b.given)), wanted = owned(slots_list(b.wanted));
  for (const Session::Deferred& d : path) {
    OwnedRef one = owned(described_node(*d.node));
    if (PyList_Append(nodes, one) < 0) throw PythonError();
  }
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
  take(b, tensors_of(answer), storages);
  for (auto& [storage, version] : versions) storage->version() = version;
  ++session.programs;
  return true;
}

}  // namespace shim
