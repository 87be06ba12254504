#pragma once
// What process groups are to Python: objects with methods derived from C++ functions' own types, and torch.distributed's exceptions.
#include "core/interpreter_lock.h"
#include "distributed/group.h"
#include "python/held_type.h"

namespace shim {
namespace between_processes {

using namespace distributed;

inline PyObject* failures[4];  // torch.distributed's exceptions, by FailureKind

inline Tensor lent(PyObject* o) {  // a tensor without gradients or a Python object: any thread may give it up
  if (o == Py_None) return {};
  CHECK(Kind::Type, is_tensor(o), "expected a torch.Tensor");
  return alias(*unwrap(o));
}

template <class W> std::optional<std::string> error_of(std::shared_ptr<W> work) {  // none: it went well, or goes on
  std::string error = work->error();
  return error.empty() ? std::nullopt : std::optional(std::move(error));
}
template <class L> std::optional<std::string> why_not(const L& library) {  // none: it is loaded
  return library.loaded ? std::nullopt : std::optional(library.why_not);
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
  bool take(PyObject* o, FromObjects&) {
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

}  // namespace module_call

namespace between_processes {

enum class Lock { held, released };  // the interpreter's, while a function runs

// What F gives; its Failure as torch.distributed's exception.
template <auto F, Lock lock, class R, class... P> auto answered(P... given) {
  try {
    const auto run = [&]() -> R {
      if constexpr (lock == Lock::held) return F(std::forward<P>(given)...);
      const Unlocked others_run;
      return F(std::forward<P>(given)...);
    };
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
template <class T> using ObjectType = HeldType<T, true>;

}  // namespace between_processes
}  // namespace shim
