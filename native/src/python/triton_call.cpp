// A call of a Triton kernel: its arguments bound to the parameters, and the key of the compiled kernel that it needs.
#include "ops/interpreter_function.h"
#include "python/triton.h"

namespace shim::triton {
namespace {

bool same(PyObject* a, PyObject* b) { return a == b || PyUnicode_Compare(a, b) == 0; }

}  // namespace

// Numbers and texts of classes of their own are compared by identity.
Value Call::value_of(PyObject* o) {
  const Value v = room_.of(o);
  const bool plain = PyLong_CheckExact(o) || PyFloat_CheckExact(o) || PyUnicode_CheckExact(o);
  const bool own = (v.tag == Value::integer || v.tag == Value::real || v.tag == Value::text) && !plain;
  return own ? held_value(o) : v;
}

bool Call::bind(
    const std::vector<Parameter>& parameters, PyObject* const* args, size_t n, PyObject* kwnames, int device) {
  static PyObject* const grid_name = PyUnicode_InternFromString("grid");
  static PyObject* const warmup_name = PyUnicode_InternFromString("warmup");
  const size_t count = parameters.size();
  if (n > count || count > kMostParameters || !key.device(device)) return false;
  for (size_t i = 0; i < n; ++i) objects[i] = args[i];
  const size_t named = kwnames ? size_t(PyTuple_GET_SIZE(kwnames)) : 0;
  for (size_t k = 0; k < named; ++k) {
    PyObject *name = PyTuple_GET_ITEM(kwnames, Py_ssize_t(k)), *given = args[n + k];
    size_t p = 0;
    while (p < count && parameters[p].name != name) ++p;
    if (p == count) {
      if (same(name, grid_name)) {
        grid = given;
        continue;
      }
      if (same(name, warmup_name)) {
        warmup = given;
        continue;
      }
      p = 0;
      while (p < count && !same(parameters[p].name, name)) ++p;
    }
    if (p < count) {
      if (objects[p]) return false;  // given twice
      objects[p] = given;
      continue;
    }
    const Value option = room_.of(name);
    if (option.tag != Value::text || !key.option({option.chars, option.size}, value_of(given))) return false;
  }
  for (size_t p = 0; p < count; ++p) {
    PyObject*& o = objects[p];
    if (!o && !(o = parameters[p].fallback)) return false;
    values[p] = value_of(o);
    if (!(parameters[p].constant ? key.constant(values[p]) : key.argument(values[p]))) return false;
  }
  return true;
}

}  // namespace shim::triton
