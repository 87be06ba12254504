// A call as PyTorch shows it to what is written in Python below it: the overload's name, and arguments without the defaults.
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

namespace {

// PyTorch's names of the overloads with out= of operators whose own overload is Tensor and that have others for numbers.
std::string with_out(const Operator& op, const std::string& own, const char* number) {
  if (op.schema.name == "xlogy") return number ? "Out" + std::string(number) : "OutTensor";
  if (number) return number + std::string("_out");
  return own == "out" && op.schema.name != "copysign" && op.traits->number_overloads[0] ? "Tensor_out" : own;
}

}  // namespace

std::string shown_overload(const Operator& op, PyObject* const* args, size_t n) {
  const std::string& own = op.schema.overload;
  if (n < 2) return own;
  if (op.schema.name == "where" && own == "self" && n == 3) {
    if (is_tensor(args[1])) return is_tensor(args[2]) ? own : "ScalarOther";
    return is_tensor(args[2]) ? "ScalarSelf" : "Scalar";
  }
  const bool tensors = is_tensor(args[0]) && is_tensor(args[1]);
  if (op.out ? !op.traits->number_overloads[0] : tensors || !own.starts_with("Tensor")) return own;
  // PyTorch's overloads for numbers; ours take numbers for tensors. Arithmetic (add, mul) does so there too.
  const auto& [second, first, in_place] = op.traits->number_overloads;
  const char* shown = tensors ? nullptr : !is_tensor(args[0]) ? first : op.inplace && in_place ? in_place : second;
  if (op.out) return with_out(op, own, shown);
  return shown ? shown : own;
}

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
