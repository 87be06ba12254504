#include "python/triton_call.h"

#include <cstring>

namespace shim::triton {
namespace {

class Key {
 public:
  explicit Key(Call* call) : call_(*call) {}

  bool put(const void* data, size_t n) {
    if (call_.used + n > kMostKey) return false;
    std::memcpy(call_.key + call_.used, data, n);
    call_.used += n;
    return true;
  }
  template <class T> bool put(T value) { return put(&value, sizeof value); }
  bool tag(char c) { return put(c); }

  // By value where that is what Triton compares; by identity for what is made once (tl.float32, functions).
  bool constant(PyObject* o) {
    if (o == Py_None || o == Py_True || o == Py_False) return tag('n') && put(o);
    if (PyLong_CheckExact(o)) {
      int overflow;
      const long long value = PyLong_AsLongLongAndOverflow(o, &overflow);
      return !overflow && tag('i') && put(value);
    }
    if (PyFloat_CheckExact(o)) return tag('f') && put(PyFloat_AS_DOUBLE(o));
    if (PyUnicode_CheckExact(o)) {
      Py_ssize_t n;
      const char* text = PyUnicode_AsUTF8AndSize(o, &n);
      if (!text) PyErr_Clear();
      return text && tag('s') && put(n) && put(text, size_t(n));
    }
    if (PyTuple_Check(o) || PyList_Check(o) || PyDict_Check(o) || is_tensor(o)) return false;
    call_.identities = true;
    return tag('o') && put(o);
  }

  // An argument at run time: what Triton specializes a kernel by.
  bool argument(PyObject* o) {
    if (is_tensor_exact(o) || reinterpret_cast<PyObject*>(Py_TYPE(o)) == ParameterType) {
      const TensorImpl* t = unwrap(o);
      if (!t->device().is_cuda() || !has_data(*t)) return false;
      return tag('t') && put(char(t->dtype())) && put(char(lies_aligned(*t)));
    }
    if (PyLong_CheckExact(o)) {
      int overflow;
      const long long value = PyLong_AsLongLongAndOverflow(o, &overflow);
      if (overflow) return false;  // unsigned ones beyond int64 are rare
      const bool narrow = value >= INT32_MIN && value <= INT32_MAX;
      return tag('l') && put(char((value == 1) | (value % 16 == 0) << 1 | narrow << 2));
    }
    if (PyFloat_CheckExact(o)) return tag('d');
    if (PyBool_Check(o) || o == Py_None) return tag('n') && put(o);
    return false;
  }

 private:
  Call& call_;
};

bool same(PyObject* a, PyObject* b) { return a == b || PyUnicode_Compare(a, b) == 0; }

}  // namespace

bool lies_aligned(const TensorImpl& t) {
  if (t.storage()->hidden()) return t.storage_offset() * int64_t(itemsize(t.dtype())) % 16 == 0;
  return reinterpret_cast<uintptr_t>(t.data()) % 16 == 0;
}

bool bind_call(const std::vector<Parameter>& parameters, PyObject* const* args, size_t n, PyObject* kwnames, int device,
    Call* call) {
  static PyObject* const grid_name = PyUnicode_InternFromString("grid");
  static PyObject* const warmup_name = PyUnicode_InternFromString("warmup");
  const size_t count = parameters.size();
  if (n > count || count > kMostParameters) return false;
  for (size_t i = 0; i < n; ++i) call->values[i] = args[i];
  Key key(call);
  if (!key.put(device)) return false;
  const size_t named = kwnames ? size_t(PyTuple_GET_SIZE(kwnames)) : 0;
  for (size_t k = 0; k < named; ++k) {
    PyObject *name = PyTuple_GET_ITEM(kwnames, Py_ssize_t(k)), *value = args[n + k];
    size_t p = 0;
    while (p < count && parameters[p].name != name) ++p;
    if (p == count) {
      if (same(name, grid_name)) {
        call->grid = value;
        continue;
      }
      if (same(name, warmup_name)) {
        call->warmup = value;
        continue;
      }
      p = 0;
      while (p < count && !same(parameters[p].name, name)) ++p;
    }
    if (p < count) {
      if (call->values[p]) return false;  // given twice
      call->values[p] = value;
      continue;
    }
    Py_ssize_t size;
    const char* text = PyUnicode_AsUTF8AndSize(name, &size);
    if (!text) PyErr_Clear();
    if (!text || !key.tag('k') || !key.put(text, size_t(size) + 1) || !key.constant(value)) return false;
  }
  for (size_t p = 0; p < count; ++p) {
    PyObject*& value = call->values[p];
    if (!value && !(value = parameters[p].fallback)) return false;
    if (!(parameters[p].constant ? key.constant(value) : key.argument(value))) return false;
  }
  return true;
}

}  // namespace shim::triton
