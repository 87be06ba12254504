// A call as PyTorch shows it to what is written in Python below it: the overload's name, and arguments without the defaults.
#include "python/shown_call.h"

#include <string_view>
#include <unordered_map>

#include "python/held.h"

namespace shim {

namespace {

// PyTorch's overloads where an operand is a number; ours take numbers for tensors. Arithmetic (add, mul) does so there too.
struct NumberOverloads {
  const char* second;           // the second operand is the number
  const char* first = nullptr;  // the first is; null: no such overload
};

const NumberOverloads* number_overloads(std::string_view name) {
  static const NumberOverloads comparison{"Scalar"}, either{"Scalar", "Scalar_Tensor"},
      shift{"Tensor_Scalar", "Scalar_Tensor"}, power{"Tensor_Scalar", "Scalar"}, xlogy{"Scalar_Other", "Scalar_Self"};
  static const std::unordered_map<std::string_view, const NumberOverloads*> table{{"eq", &comparison},
      {"ne", &comparison}, {"lt", &comparison}, {"le", &comparison}, {"gt", &comparison}, {"ge", &comparison},
      {"fmod", &comparison}, {"copysign", &comparison}, {"remainder", &either}, {"bitwise_and", &either},
      {"bitwise_or", &either}, {"bitwise_xor", &either}, {"bitwise_left_shift", &shift},
      {"bitwise_right_shift", &shift}, {"pow", &power}, {"float_power", &power}, {"pow_", &comparison},
      {"float_power_", &comparison}, {"xlogy", &xlogy}};
  auto it = table.find(name);
  if (it == table.end() && name.ends_with("_")) it = table.find(name.substr(0, name.size() - 1));
  return it == table.end() ? nullptr : it->second;
}

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

std::string shown_overload(const Operator& op, PyObject* const* args, size_t n) {
  const std::string& own = op.schema.overload;
  if (n < 2 || op.out) return own;
  if (op.schema.name == "where" && own == "self" && n == 3) {
    if (is_tensor(args[1])) return is_tensor(args[2]) ? own : "ScalarOther";
    return is_tensor(args[2]) ? "ScalarSelf" : "Scalar";
  }
  if (is_tensor(args[0]) && is_tensor(args[1])) return own;
  const NumberOverloads* named = own.starts_with("Tensor") ? number_overloads(op.schema.name) : nullptr;
  if (!named) return own;
  const char* shown = is_tensor(args[0]) ? named->second : named->first;
  return shown ? shown : own;
}

bool shown_arguments(const Operator& op, PyObject* const* args, size_t n, PyObject** positional, PyObject** keywords) {
  size_t count = std::min<size_t>(op.positional, n);
  while (count && is_default(op.slots[count - 1], args[count - 1])) --count;
  *positional = PyTuple_New(Py_ssize_t(count));
  *keywords = PyDict_New();
  if (!*positional || !*keywords) return false;
  for (size_t i = 0; i < count; ++i) {
    PyObject* v = as_seen(args[i]);
    if (!v) return false;
    PyTuple_SET_ITEM(*positional, Py_ssize_t(i), v);
  }
  for (size_t i = op.positional; i < n; ++i) {
    if (is_default(op.slots[i], args[i])) continue;
    Held v{as_seen(args[i])};
    if (!v.o || PyDict_SetItem(*keywords, op.slots[i].name, v.o) < 0) return false;
  }
  return true;
}

}  // namespace shim
