#pragma once
// object_method<&resize>("resize_"), object_attribute<...>("device"): entries of a type's tables, derived as functions of the module are
// (python/module_function.h) from C++ functions whose first parameter is the object.
#include "python/module_function.h"

namespace shim {
namespace module_call {

// The object before the arguments.
class WithObject {
 public:
  WithObject(PyObject* self, PyObject* const* args, size_t n) : fits_(n < std::size(all_)) {
    if (!fits_) PyErr_Format(PyExc_TypeError, "too many arguments");
    all_[0] = self;
    std::copy_n(args, fits_ ? n : 0, all_ + 1);
  }
  explicit operator bool() const { return fits_; }  // false: an error is set
  PyObject* const* data() const { return all_; }

 private:
  PyObject* all_[16];
  bool fits_;
};

template <class F> [[gnu::noinline]] PyObject* call_of(PyObject* self, F f, PyObject* const* args, size_t n) {
  const WithObject all(self, args, n);
  return all ? call(f, all.data(), n + 1) : nullptr;
}
template <auto F> PyObject* of_object(PyObject* self, PyObject* const* args, Py_ssize_t n) {
  return call_of(self, +F, args, size_t(n));
}
template <auto F, Names names>
PyObject* named_of_object(PyObject* self, PyObject* const* args, Py_ssize_t n, PyObject* keywords) {
  const WithObject all(self, args, size_t(n + (keywords ? PyTuple_GET_SIZE(keywords) : 0)));
  return all ? call(+F, names.view(), all.data(), size_t(n) + 1, keywords) : nullptr;
}

}  // namespace module_call

template <auto F> PyMethodDef object_method(const char* name, const char* doc = nullptr) {
  return {name, reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(&module_call::of_object<F>)), METH_FASTCALL,
      doc};
}
template <auto F, module_call::Names names> PyMethodDef object_method(const char* name, const char* doc = nullptr) {
  return {name, reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(&module_call::named_of_object<F, names>)),
      METH_FASTCALL | METH_KEYWORDS, doc};
}
// Methods that CPython counts the arguments of: none, and one.
template <auto F> PyMethodDef method_of_none(const char* name) {
  return {name, [](PyObject* self, PyObject*) { return module_call::module_function<F>(nullptr, &self, 1); },
      METH_NOARGS, nullptr};
}
template <auto F> PyMethodDef method_of_one(const char* name) {
  return {name,
      [](PyObject* self, PyObject* given) {
        PyObject* both[] = {self, given};
        return module_call::module_function<F>(nullptr, both, 2);
      },
      METH_O, nullptr};
}
template <auto F> PyMethodDef static_method(const char* name) {
  PyMethodDef m = function<F>(name);
  m.ml_flags |= METH_STATIC;
  return m;
}
template <auto F> PyGetSetDef object_attribute(const char* name, const char* doc = nullptr) {
  return {name, [](PyObject* self, void*) { return module_call::module_function<F>(nullptr, &self, 1); }, nullptr, doc,
      nullptr};
}

}  // namespace shim
