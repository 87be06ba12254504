// What is deferred, by a backend of the user's: a GraphModule of it is made once for a stretch of the tree and what of it is wanted
// (shim_torch/_impl/compile/backends.py), and what the backend made of that is called.
#include <algorithm>

#include "core/tensor.h"
#include "ops/kernels.h"
#include "python/owned_ref.h"
#include "python/trace.h"
#include "python/trace_modes.h"
#include "python/trace_rules.h"

namespace shim {

using namespace trace;
using Path = std::span<const Session::Deferred>;
using Slots = std::vector<Ref<Storage>>;

PyObject* lowering = nullptr;

namespace {

struct Boundary {  // between a stretch and what is around it
  std::vector<TensorSpec> given,
      wanted;  // a tensor over each memory that was there, and over each new one that somebody has
};

Boundary boundary_of(Path path, const Slots& storages) {
  Boundary b;
  std::vector<bool> seen(storages.size());
  const auto meet = [&](const TensorSpec& s, std::vector<TensorSpec>& into, bool take) {
    if (!seen[s.slot] && take) into.push_back(s);
    seen[s.slot] = true;
  };
  for (const Session::Deferred& d : path) {
    for (const TensorSpec& s : d.node->inputs) meet(s, b.given, true);
    for (const TensorSpec& s : d.node->results) meet(s, b.wanted, storages[s.slot]->use_count() > 1);
  }
  return b;
}

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

// The backend's tensors become the memory of those that were given out. One that shares memory with another is copied.
void take(const Boundary& b, PyObject* answer, Slots& storages) {
  const std::vector<Tensor> made = tensors_of(answer);
  CHECK(Kind::Runtime, made.size() == b.wanted.size(), "a backend's function gave ", made.size(),
      " tensors where its graph gives ", b.wanted.size());
  std::vector<const Storage*> taken;
  for (const TensorSpec& s : b.given) taken.push_back(storages[s.slot].get());
  for (size_t i = 0; i < made.size(); ++i) {
    const TensorSpec& spec = b.wanted[i];
    Tensor t = made[i];
    CHECK(Kind::Runtime, t->dtype() == spec.dtype && std::ranges::equal(t->sizes(), spec.sizes()),
        "a backend's function gave another tensor than its graph gives");
    const bool own = t->storage()->may_hide() && t->storage()->nbytes() >= spec.nbytes && spec.lies_like(*t) &&
                     std::ranges::find(taken, t->storage().get()) == taken.end();
    if (!own) {
      Tensor copy = spec.over(allocate(spec.nbytes, spec.device));
      copy_(copy, t);
      t = copy;
    }
    taken.push_back(t->storage().get());
    storages[spec.slot]->fill_pending(*t->storage());
  }
}

}  // namespace

bool run_by_backend(Session& session, Path path, Slots& storages) {
  const Boundary b = boundary_of(path, storages);
  Stretch stretch{path.front().node, path.back().node, {}};
  for (const Ref<Storage>& s : storages) stretch.outlive.push_back(s && s->hidden() && s->use_count() > 1);
  OwnedRef tensors = owned(tensors_tuple(b.given, storages));
  WithoutModes without;
  auto& known = session.tree().lowered;
  auto found = known.find(stretch);
  if (found == known.end()) found = known.emplace(stretch, lowered(session, path, b, tensors)).first;
  std::vector<std::pair<Ref<Storage>, uint32_t>> versions;  // writes were counted when the operators were called
  for (const TensorSpec& s : b.given) versions.emplace_back(storages[s.slot], storages[s.slot]->version().load());
  OwnedRef answer = owned(PyObject_Call(static_cast<PyObject*>(found->second->object), tensors, nullptr));
  take(b, answer, storages);
  for (auto& [storage, version] : versions) storage->version() = version;
  ++session.programs;
  return true;
}

}  // namespace shim
