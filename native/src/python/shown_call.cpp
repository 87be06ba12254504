// A call's arguments as PyTorch shows them to what is written in Python below it: without the defaults.
#include "python/shown_call.h"

#include "python/owned_ref.h"

namespace shim {

namespace {

bool is_default(const Slot& slot, PyObject* value) {
  if (!slot.fallback) return false;
  if (slot.fallback == value) return true;
  if (is_tensor(value) || PyList_Check(value) || Py_TYPE(value) != Py_TYPE(slot.fallback)) return false;
  int same = PyObject_RichCompareBool(slot.fallback, value, Py_EQ);
  if (same < 0) PyErr_Clear();
  return same == 1;
}

PyObject* as_seen(PyObject* value) {  // lists of numbers are lists, as PyTorch shows them
  return PyTuple_CheckExact(value) ? PySequence_List(value) : Py_NewRef(value);
}

}  // namespace

bool shown_arguments(const Operator& op, PyObject* const* args, size_t n, PyObject** positional, PyObject** keywords) {
  const std::vector<Slot>& slots = python_of(op).slots;
  size_t count = std::min<size_t>(op.positional, n);
  while (count && is_default(slots[count - 1], args[count - 1])) --count;
  *positional = tuple_by(count, [&](size_t i) { return as_seen(args[i]); });
  *keywords = PyDict_New();
  if (!*positional || !*keywords) return false;
  for (size_t i = op.positional; i < n; ++i) {
    if (is_default(slots[i], args[i])) continue;
    OwnedRef v{as_seen(args[i])};
    if (!v.o || PyDict_SetItem(*keywords, slots[i].name, v.o) < 0) return false;
  }
  return true;
}

}  // namespace shim
