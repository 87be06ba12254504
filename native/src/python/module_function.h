#pragma once
// function<&set_device>("cuda_set_device"): a function of the module, its unpacking derived from a C++ function's own type. Optional
// parameters at the end need not be given.
#include <array>
#include <map>

#include "kernels/call.h"
#include "python/owned_ref.h"
#include "python/values.h"

namespace shim {

struct Bytes {  // of Python's type bytes
  std::string held;
};
struct Truth {  // of any object, as Python's bool() says
  bool on;
  operator bool() const { return on; }
};
struct Rest {  // whatever was given, of a function that takes any number of arguments
  PyObject* const* args;
  size_t size;
  PyObject* const* begin() const { return args; }
  PyObject* const* end() const { return args + size; }
};

namespace module_call {

struct FromObjects : Reading {
  Values values;
};

// A parameter, read as a kernel's is.
template <class P> struct Argument {
  bool take(PyObject* o, FromObjects& r) { return given_.take(r.values.of(o), r); }
  decltype(auto) value() const { return given_.value(); }

 private:
  Parameter<P> given_;
};

template <> struct Argument<int> {
  bool take(PyObject* o, FromObjects& r) {
    if (!number_.take(o, r)) return false;
    return number_.value() == int(number_.value()) || (r.why = "an integer beyond 32 bits", false);
  }
  int value() const { return int(number_.value()); }

 private:
  Argument<int64_t> number_;
};

// Pointers are integers to Python.
template <class T> struct Argument<T*> {
  bool take(PyObject* o, FromObjects& r) { return number_.take(o, r); }
  T* value() const { return reinterpret_cast<T*>(static_cast<intptr_t>(number_.value())); }

 private:
  Argument<int64_t> number_;
};

template <> struct Argument<uint64_t> {  // modulo 2**64
  bool take(PyObject* o, FromObjects& r) {
    if (!PyLong_Check(o)) return r.why = "no integer", false;
    value_ = PyLong_AsUnsignedLongLongMask(o);
    return true;
  }
  uint64_t value() const { return value_; }

 private:
  uint64_t value_ = 0;
};

template <> struct Argument<std::optional<PyObject*>> {
  bool take(PyObject* o, FromObjects&) {
    if (o != Py_None) object_ = o;
    return true;
  }
  std::optional<PyObject*> value() const { return object_; }

 private:
  std::optional<PyObject*> object_;
};

template <> struct Argument<Truth> {
  bool take(PyObject* o, FromObjects&) {
    const int truth = PyObject_IsTrue(o);
    if (truth < 0) throw PythonError();
    truth_ = truth;
    return true;
  }
  Truth value() const { return {truth_}; }

 private:
  bool truth_ = false;
};

template <> struct Argument<std::span<const char>> {  // bytes, or those of a text, lent
  bool take(PyObject* o, FromObjects& r) {
    if (PyUnicode_Check(o)) return bytes_ = std::string_view(utf8(o)), true;
    if (!PyBytes_Check(o)) return r.why = "no bytes", false;
    bytes_ = {PyBytes_AS_STRING(o), size_t(PyBytes_GET_SIZE(o))};
    return true;
  }
  std::span<const char> value() const { return bytes_; }

 private:
  std::span<const char> bytes_;
};

template <> struct Argument<std::vector<std::string>> {  // any sequence of texts
  bool take(PyObject* o, FromObjects& r) {
    if (PyUnicode_Check(o) || !PySequence_Check(o)) return r.why = "no sequence of texts", false;
    const OwnedRef items = owned(PySequence_Fast(o, "expected a sequence"));
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(items.o); ++i)
      texts_.emplace_back(utf8(PySequence_Fast_GET_ITEM(items.o, i)));
    return true;
  }
  std::vector<std::string> value() { return std::move(texts_); }

 private:
  std::vector<std::string> texts_;
};

template <> struct Argument<const Value&> {  // whatever a kernel can be given
  bool take(PyObject* o, FromObjects& r) {
    value_ = r.values.of(o);
    return true;
  }
  const Value& value() const { return value_; }

 private:
  Value value_;
};

template <> struct Argument<PyObject*> {  // lent, whatever it is
  bool take(PyObject* o, FromObjects&) {
    object_ = o;
    return true;
  }
  PyObject* value() const { return object_; }

 private:
  PyObject* object_ = nullptr;
};

inline PyObject* object(const Tensor& t) { return wrap(t); }
inline PyObject* object(Tensor&& t) { return wrap(std::move(t)); }
inline PyObject* object(const Ref<Storage>& s) { return storage_object(s); }
inline PyObject* object(bool b) { return PyBool_FromLong(b); }
inline PyObject* object(PyObject* o) { return o; }
template <class T> PyObject* object(std::shared_ptr<T>&& it);  // held_type.h
template <class T> PyObject* object(T* pointer) { return PyLong_FromVoidPtr(reinterpret_cast<void*>(pointer)); }
inline PyObject* object(int i) { return PyLong_FromLong(i); }
inline PyObject* object(int64_t i) { return PyLong_FromLongLong(i); }
inline PyObject* object(double d) { return PyFloat_FromDouble(d); }
inline PyObject* object(DType t) { return dtype_object(t); }
inline PyObject* object(const std::string& s) { return PyUnicode_FromStringAndSize(s.data(), Py_ssize_t(s.size())); }
inline PyObject* object(const Bytes& b) { return PyBytes_FromStringAndSize(b.held.data(), Py_ssize_t(b.held.size())); }
inline PyObject* object(MemoryFormat f) { return memory_format_object(f); }
inline PyObject* object(Dims&& dims) { return size_object(dims); }
template <class K, class T> PyObject* object(const std::map<K, T>& entries) {
  OwnedRef dict = owned(PyDict_New());
  for (const auto& [key, value] : entries) {
    if (PyDict_SetItem(dict, owned(object(key)), owned(object(value))) < 0) return nullptr;
  }
  return dict.give();
}
template <class T> PyObject* tuple_from(std::vector<T>&& items) {
  std::vector<PyObject*> all;
  for (T& item : items) all.push_back(object(std::move(item)));
  return tuple_of(all);
}
template <class T> PyObject* object(std::vector<T>&& items) {
  return list_by(items.size(), [&](size_t i) { return object(std::move(items[i])); });
}
struct Tuple {  // a result that is a tuple of tensors
  std::vector<Tensor> tensors;
};
inline PyObject* object(Tuple&& t) { return tuple_from(std::move(t.tensors)); }
template <class... T> PyObject* object(std::tuple<T...>&& all) {
  return std::apply(
      [](T&... t) { return tuple_of(std::array<PyObject*, sizeof...(T)>{object(std::move(t))...}); }, all);
}
template <class T> PyObject* object(std::optional<T>&& t) { return t ? object(std::move(*t)) : Py_NewRef(Py_None); }

template <class P> constexpr bool may_lack = false;
template <class T> constexpr bool may_lack<std::optional<T>> = true;
template <class T> constexpr bool may_lack<const std::optional<T>&> = true;
template <class... P> constexpr size_t least() {
  constexpr bool lacking[] = {may_lack<P>..., false};
  size_t n = sizeof...(P);
  while (n && lacking[n - 1]) --n;
  return n;
}

template <class F, class... P, size_t... I>
PyObject* answer_of(F f, PyObject* const* args, kernel_call::Types<P...>, std::index_sequence<I...> places) {
  FromObjects r;
  kernel_call::Slots<decltype(places), Argument<P>...> given;
  size_t at = 0;
  if (!((at = I, kernel_call::in<I>(given).take(args[I], r)) && ...))
    return PyErr_Format(PyExc_TypeError, "argument %zu: %s", at + 1, r.why);
  const auto run = [&]() -> decltype(auto) { return f(kernel_call::in<I>(given).value()...); };
  if constexpr (std::is_void_v<typename kernel_call::Signature<F>::Result>)
    return run(), Py_NewRef(Py_None);
  else
    return object(run());
}

// Functions of a type share these.
template <class F> PyObject* answer(F f, PyObject* const* args) {
  using S = kernel_call::Signature<F>;
  return guarded([&] { return answer_of(f, args, typename S::Parameters{}, typename S::Places{}); });
}

template <class F, class... P> PyObject* call(F f, PyObject* const* args, size_t n, kernel_call::Types<P...>) {
  constexpr size_t few = least<P...>(), most = sizeof...(P);
  if (n < few || n > most)
    return few == most ? PyErr_Format(PyExc_TypeError, "expected %zu arguments, got %zu", most, n)
                       : PyErr_Format(PyExc_TypeError, "expected %zu to %zu arguments, got %zu", few, most, n);
  PyObject* given[most + 1];
  if (few < most) {
    std::fill(std::copy_n(args, n, given), given + most, Py_None);
    args = given;
  }
  return answer(f, args);
}
template <class F> PyObject* call(F f, PyObject* const* args, size_t n, kernel_call::Types<Rest>) {
  return guarded([&] { return object(f(Rest{args, n})); });
}
template <class F> [[gnu::noinline]] PyObject* call(F f, PyObject* const* args, size_t n) {
  return call(f, args, n, typename kernel_call::Signature<F>::Parameters{});
}

// Names of parameters as a template's argument: "size dtype device".
template <size_t N> struct Names {
  char text[N];
  constexpr Names(const char (&given)[N]) { std::copy_n(given, N, text); }
  std::string_view view() const { return {text, N - 1}; }
};

// The arguments in the order of their names, None for those that may lack, in `given`; false with an error set.
bool in_order(std::string_view names, std::span<const bool> lacking, PyObject* const* args, size_t n,
    PyObject* keywords, PyObject** given);

template <class F>
[[gnu::noinline]] PyObject* call(F f, std::string_view names, PyObject* const* args, size_t n, PyObject* keywords) {
  return [&]<class... P>(kernel_call::Types<P...>) -> PyObject* {
    constexpr bool lacking[] = {may_lack<P>...};
    PyObject* given[sizeof...(P)];
    return in_order(names, lacking, args, n, keywords, given) ? answer(f, given) : nullptr;
  }(typename kernel_call::Signature<F>::Parameters{});
}

template <auto F> PyObject* module_function(PyObject*, PyObject* const* args, Py_ssize_t n) {
  return call(+F, args, size_t(n));
}
template <auto F, Names names>
PyObject* named_module_function(PyObject*, PyObject* const* args, Py_ssize_t n, PyObject* keywords) {
  return call(+F, names.view(), args, size_t(n), keywords);
}

// A list of what f makes of each item: new references, or null with an error set.
template <class Items, class F> PyObject* list_of(Items&& items, F&& f) {
  OwnedRef list = owned(PyList_New(0));
  for (auto& item : items) {
    if (PyList_Append(list, owned(f(item))) < 0) return nullptr;
  }
  return list.give();
}

}  // namespace module_call

template <auto F> PyMethodDef function(const char* name, const char* doc = nullptr) {
  return {name, reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(&module_call::module_function<F>)),
      METH_FASTCALL, doc};
}
// The same with parameters that may be given by name.
template <auto F, module_call::Names names> PyMethodDef function(const char* name, const char* doc = nullptr) {
  return {name,
      reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(&module_call::named_module_function<F, names>)),
      METH_FASTCALL | METH_KEYWORDS, doc};
}

}  // namespace shim
