// An operator is asked what it gives, with tensors that have no memory (trace/foreseen.h).
#include "python/owned_ref.h"
#include "python/tensors_in.h"
#include "python/trace_modes.h"
#include "python/trace_rules.h"
#include "python/values.h"

namespace shim {

using namespace trace;

namespace {

PyObject* stand_in(StandIns& tensors, PyObject* o) {  // new reference
  if (is_tensor(o)) return wrap(tensors.of(*unwrap(o)));
  if (!PyList_CheckExact(o) && !PyTuple_CheckExact(o)) return Py_NewRef(o);
  OwnedRef items = owned(PySequence_List(o));
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(items.o); ++i)
    if (is_tensor(PyList_GET_ITEM(items.o, i)))
      PyList_SetItem(items, i, stand_in(tensors, PyList_GET_ITEM(items.o, i)));
  return items.give();
}

// A device that is named is the one of the results; they have no memory for now. False: the tensors are elsewhere.
bool put_device(StandIns& tensors, Bound& b, const Argument& a, PyObject* given, size_t i) {
  if (a.type.base != ArgType::Device || a.type.list || (given == Py_None && tensors.any())) return true;
  if (given != Py_None) {
    const Value v = Values().of(given);
    if (v.tag != Value::device || !tensors.set_device(v.where)) return false;
  }
  b.set(i, device_object(kWithoutMemory));
  return true;
}

}  // namespace

Foreseen foreseen_call(
    Session& s, Operator& op, PyObject* const* args, size_t n, bool writes, bool wants_gradient, Given& given) {
  StandIns tensors;
  Bound b;
  b.reset(n);
  for (size_t i = 0; i < n; ++i) b.set(i, stand_in(tensors, args[i]));
  for (size_t i = 0; i < n; ++i)
    if (!put_device(tensors, b, op.schema.args[i], args[i], i)) return {};
  Produced produced;
  try {
    WithoutModes without;
    OwnedRef result = owned(writes ? run_inplace(op, b.data(), n) : run_functional(op, b.data(), n));
    if (!writes) produced = produced_by(result);
  } catch (...) {  // it says so itself when it runs
    return PyErr_Clear(), Foreseen();
  }
  if (writes) {
    TensorSpec after = TensorSpec::of(*unwrap(b.data()[0]));
    after.device = tensors.device();
    if (!after.lies_like(*unwrap(args[0]))) return {};
  } else if (auto results = tensors.with_memory(produced.tensors)) {
    produced.tensors = std::move(*results);
  } else {
    return {};
  }
  Foreseen f = foresee(s, op, Values(args, n).data(), n, produced, wants_gradient, given);
  if (f.node) note_line(*f.node);
  return f;
}

}  // namespace shim
