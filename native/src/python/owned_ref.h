#pragma once

#include <string>
#include <utility>

#include "python/object.h"

namespace shim {

// An owned reference, or null; given up at the end of its scope.
struct OwnedRef {
  PyObject* o = nullptr;
  OwnedRef() = default;
  explicit OwnedRef(PyObject* p) : o(p) {}
  OwnedRef(OwnedRef&& h) noexcept : o(h.o) { h.o = nullptr; }
  OwnedRef& operator=(OwnedRef&& h) noexcept {
    std::swap(o, h.o);
    return *this;
  }
  ~OwnedRef() { Py_XDECREF(o); }
  operator PyObject*() const { return o; }

  PyObject* give() {
    PyObject* p = o;
    o = nullptr;
    return p;
  }
};

// What make(i) gives, new references, as a tuple or a list; null with the error set where one of them is null.
template <class F, class Put> PyObject* filled(PyObject* sequence, size_t n, F&& make, Put&& put) {
  OwnedRef made{sequence};
  for (size_t i = 0; made.o && i < n; ++i) {
    PyObject* item = make(i);
    if (!item) return nullptr;
    put(made.o, Py_ssize_t(i), item);
  }
  return made.give();
}
template <class F> PyObject* tuple_by(size_t n, F&& make) {
  return filled(PyTuple_New(Py_ssize_t(n)), n, make, [](auto* o, auto i, auto* item) { PyTuple_SET_ITEM(o, i, item); });
}
template <class F> PyObject* list_by(size_t n, F&& make) {
  return filled(PyList_New(Py_ssize_t(n)), n, make, [](auto* o, auto i, auto* item) { PyList_SET_ITEM(o, i, item); });
}
inline PyObject* tuple_of_lent(PyObject* const* items, size_t n) {
  return tuple_by(n, [&](size_t i) { return Py_NewRef(items[i]); });
}
// Keyword arguments of a vectorcall as a dict.
inline PyObject* dict_of_keywords(PyObject* names, PyObject* const* values) {
  OwnedRef dict{PyDict_New()};
  for (Py_ssize_t i = 0; dict.o && names && i < PyTuple_GET_SIZE(names); ++i)
    if (PyDict_SetItem(dict, PyTuple_GET_ITEM(names, i), values[i]) < 0) return nullptr;
  return dict.give();
}

// The same of a call that must have given something: Python's error goes on as an exception.
inline OwnedRef owned(PyObject* p) {
  if (!p) throw PythonError();
  return OwnedRef(p);
}

// What a module has by a name; the module is imported.
inline OwnedRef imported(const char* module, const char* name) {
  return owned(PyObject_GetAttrString(owned(PyImport_ImportModule(module)), name));
}

// The pending exception while other code of Python runs; it is set again afterwards, unless it was dropped.
class Pending {
 public:
  Pending() { PyErr_Fetch(&type_, &value_, &trace_); }
  ~Pending() {
    if (type_) PyErr_Restore(type_, value_, trace_);
  }
  Pending(const Pending&) = delete;
  explicit operator bool() const { return type_; }
  PyObject* value() {  // the exception itself, lent
    PyErr_NormalizeException(&type_, &value_, &trace_);
    if (trace_) PyException_SetTraceback(value_, trace_);
    return value_;
  }
  std::string text() {
    const OwnedRef shown{value() ? PyObject_Str(value_) : nullptr};
    const char* chars = shown.o ? PyUnicode_AsUTF8(shown) : nullptr;
    PyErr_Clear();
    return chars ? chars : "an exception without a text";
  }
  void drop() { clear_each(type_, value_, trace_); }

 private:
  PyObject *type_, *value_, *trace_;
};

}  // namespace shim
