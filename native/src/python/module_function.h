#pragma once
// function<&set_device>("cuda_set_device"): a function of the module, its unpacking derived from a C++ function's own type.
#include "python/kernel_call.h"

namespace shim {

template <On on> struct Parameter<int, on> {
  bool take(PyObject* o, const char** why) {
    if (!number_.take(o, why)) return false;
    return number_.value() == int(number_.value()) || (*why = "an integer beyond 32 bits", false);
  }
  int value() const { return int(number_.value()); }

 private:
  Parameter<int64_t, on> number_;
};

// Pointers are integers to Python.
template <class T, On on> struct Parameter<T*, on> {
  bool take(PyObject* o, const char** why) { return number_.take(o, why); }
  T* value() const { return reinterpret_cast<T*>(static_cast<intptr_t>(number_.value())); }

 private:
  Parameter<int64_t, on> number_;
};

namespace kernel_call {

template <class T> PyObject* object(std::optional<T>&& t) { return t ? object(std::move(*t)) : Py_NewRef(Py_None); }

template <auto F, class... P, size_t... I>
PyObject* answer_of(PyObject* const* args, Types<P...>, std::index_sequence<I...>) {
  std::tuple<Parameter<P, On::any>...> given;
  const char* why = nullptr;
  size_t at = 0;
  if (!((at = I, std::get<I>(given).take(args[I], &why)) && ...))
    return PyErr_Format(PyExc_TypeError, "argument %zu: %s", at + 1, why);
  if constexpr (std::is_void_v<typename Signature<decltype(+F)>::Result>)
    return F(std::get<I>(given).value()...), Py_NewRef(Py_None);
  else
    return object(F(std::get<I>(given).value()...));
}

template <auto F> PyObject* module_function(PyObject*, PyObject* const* args, Py_ssize_t n) {
  return [&]<class... P>(Types<P...> types) -> PyObject* {
    if (n != Py_ssize_t(sizeof...(P)))
      return PyErr_Format(PyExc_TypeError, "expected %zu arguments, got %zd", sizeof...(P), n);
    return guarded([&] { return answer_of<F>(args, types, std::index_sequence_for<P...>{}); });
  }(typename Signature<decltype(+F)>::Parameters{});
}

}  // namespace kernel_call

template <auto F> PyMethodDef function(const char* name, const char* doc = nullptr) {
  return {name, reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(&kernel_call::module_function<F>)),
      METH_FASTCALL, doc};
}

}  // namespace shim
