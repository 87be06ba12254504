#pragma once
// What process groups are to Python: objects that hold a shared pointer, with methods derived from C++ functions' own types, and
// torch.distributed's exceptions.
#include "core/interpreter_lock.h"
#include "distributed/group.h"
#include "python/module_function.h"
#include "python/native_ops.h"
#include "python/object_methods.h"

namespace shim {
namespace between_processes {

using namespace distributed;

inline PyObject* failures[4];  // torch.distributed's exceptions, by FailureKind

template <class T> struct Holder {
  PyObject_HEAD std::shared_ptr<T> it;
};

template <class T> inline PyTypeObject* type_of = nullptr;

template <class T> PyObject* hold(std::shared_ptr<T> it) {  // None of none
  if (!it) Py_RETURN_NONE;
  PyTypeObject* type = type_of<T>;
  PyObject* o = type->tp_alloc(type, 0);
  if (o) new (&reinterpret_cast<Holder<T>*>(o)->it) std::shared_ptr<T>(std::move(it));
  return o;
}

template <class T> void drop(PyObject* o) {
  {
    const GilRelease released;  // threads may have to end
    reinterpret_cast<Holder<T>*>(o)->it.~shared_ptr();
  }
  free_object(o);
}

inline Tensor lent(PyObject* o) {  // a tensor without gradients or a Python object: any thread may give it up
  if (o == Py_None) return {};
  CHECK(Kind::Type, is_tensor(o), "expected a torch.Tensor");
  return alias(*unwrap(o));
}

inline void read(PyObject* o, Tensor* to) { *to = lent(o); }
inline void read(PyObject* o, int64_t* to) { *to = PyLong_AsLongLong(o); }
inline void read(PyObject* o, Milliseconds* to) { *to = Milliseconds(PyLong_AsLongLong(o)); }
inline void read(PyObject* o, std::pair<Tensor, Tensor>* to) {
  *to = {lent(PyTuple_GET_ITEM(o, 0)), lent(PyTuple_GET_ITEM(o, 1))};
}
template <class T> void read(PyObject* o, std::vector<T>* to) {  // a sequence; None is empty, a tensor the only one
  if (o == Py_None) return;
  const OwnedRef items = is_tensor(o) ? owned(PyTuple_Pack(1, o)) : owned(PySequence_Fast(o, "expected a sequence"));
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(items.o); ++i)
    read(PySequence_Fast_GET_ITEM(items.o, i), &to->emplace_back());
}

}  // namespace between_processes

namespace module_call {

template <class T> struct Read {
  bool take(PyObject* o, const char**) {
    between_processes::read(o, &value_);
    if (PyErr_Occurred()) throw PythonError();
    return true;
  }
  T value() { return std::move(value_); }

 private:
  T value_{};
};
template <> struct Argument<Tensor> : Read<Tensor> {};
template <> struct Argument<distributed::Milliseconds> : Read<distributed::Milliseconds> {};
template <class T> struct Argument<std::vector<T>> : Read<std::vector<T>> {};

template <class T> struct Argument<std::shared_ptr<T>> {
  bool take(PyObject* o, const char** why) {
    if (Py_TYPE(o) != between_processes::type_of<T>) return *why = "an object of another kind", false;
    it_ = reinterpret_cast<between_processes::Holder<T>*>(o)->it;
    return true;
  }
  const std::shared_ptr<T>& value() const { return it_; }

 private:
  std::shared_ptr<T> it_;
};

}  // namespace module_call

namespace between_processes {

enum class Lock { held, released };  // the interpreter's, while a function runs

// What F gives, a shared pointer as Python's object; its Failure as torch.distributed's exception.
template <auto F, Lock lock, class R, class... P> auto answered(P... given) {
  try {
    const auto run = [&]() -> R {
      if constexpr (lock == Lock::held) return F(std::forward<P>(given)...);
      const Unlocked others_run;
      return F(std::forward<P>(given)...);
    };
    if constexpr (requires(R r) { hold(r); })
      return hold(run());
    else
      return run();
  } catch (const distributed::Failure& failure) {
    PyObject* kind = failures[size_t(failure.kind())];
    PyErr_SetString(kind ? kind : PyExc_RuntimeError, failure.what());
    throw PythonError();
  }
}
template <auto F, Lock lock> constexpr auto wrapped() {
  using S = kernel_call::Signature<decltype(+F)>;
  return []<class... P>(kernel_call::Types<P...>) { return &answered<F, lock, typename S::Result, P...>; }(
             typename S::Parameters{});
}

template <auto F, Lock lock = Lock::released> PyMethodDef method(const char* name) {
  return object_method<wrapped<F, lock>()>(name);
}
template <auto F, Lock lock = Lock::released> PyMethodDef between(const char* name) {
  return function<wrapped<F, lock>()>(name);
}
template <class T>
bool add_type(PyObject* module, const char* name, PyMethodDef* methods, PyGetSetDef* attributes = nullptr) {
  const std::string full = str("shim_torch._impl.native._core.", name);
  PyType_Slot slots[] = {
      slot(Py_tp_dealloc, drop<T>), {Py_tp_methods, methods}, {attributes ? Py_tp_getset : 0, attributes}, {}};
  PyType_Spec spec = {
      full.c_str(), sizeof(Holder<T>), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, slots};
  type_of<T> = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&spec));
  return type_of<T> && PyModule_AddObjectRef(module, name, reinterpret_cast<PyObject*>(type_of<T>)) == 0;
}

int bind_nccl(PyObject* module);  // bind_nccl.cpp

}  // namespace between_processes
}  // namespace shim
