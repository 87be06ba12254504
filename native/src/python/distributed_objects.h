#pragma once
// What process groups are to Python: objects that hold a shared pointer, and torch.distributed's exceptions.
#include "distributed/failure.h"
#include "python/native_ops.h"
#include "python/owned_ref.h"

namespace shim::between_processes {

using namespace distributed;

inline PyObject* failures[4];  // torch.distributed's exceptions, by FailureKind

template <class F> auto between(F&& f) -> decltype(f()) {
  return guarded([&]() -> decltype(f()) {
    try {
      return f();
    } catch (const distributed::Failure& failure) {
      PyObject* kind = failures[size_t(failure.kind())];
      PyErr_SetString(kind ? kind : PyExc_RuntimeError, failure.what());
      throw PythonError();
    }
  });
}

template <class T> struct Holder {
  PyObject_HEAD std::shared_ptr<T> it;
};

template <class T> inline PyTypeObject* type_of = nullptr;

template <class T> T& in(PyObject* o) { return *reinterpret_cast<Holder<T>*>(o)->it; }

template <class T> PyObject* hold(std::shared_ptr<T> it) {
  PyTypeObject* type = type_of<T>;
  PyObject* o = type->tp_alloc(type, 0);
  if (o) new (&reinterpret_cast<Holder<T>*>(o)->it) std::shared_ptr<T>(std::move(it));
  return o;
}

template <class T> void drop(PyObject* o) {
  PyTypeObject* type = Py_TYPE(o);
  {
    const GilRelease released;  // threads may have to end
    reinterpret_cast<Holder<T>*>(o)->it.~shared_ptr();
  }
  type->tp_free(o);
  Py_DECREF(type);
}

inline bool numbers(PyObject* o, std::vector<int64_t>* to) {
  if (o == Py_None) return true;
  OwnedRef all(PySequence_Fast(o, "a sequence of integers"));
  for (Py_ssize_t i = 0; all.o && i < PySequence_Fast_GET_SIZE(all.o); ++i)
    to->push_back(PyLong_AsLongLong(PySequence_Fast_GET_ITEM(all.o, i)));
  return all.o && !PyErr_Occurred();
}

inline Tensor lent(PyObject* o) {  // a tensor without gradients or a Python object: any thread may give it up
  if (o == Py_None) return {};
  CHECK(Kind::Type, is_tensor(o), "expected a torch.Tensor");
  return alias(*unwrap(o));
}

template <class T> bool add_type(PyObject* module, const char* name, PyMethodDef* methods, PyGetSetDef* attributes) {
  const std::string full = str("shim_torch._impl.native._core.", name);
  PyType_Slot slots[] = {{Py_tp_dealloc, reinterpret_cast<void*>(drop<T>)}, {Py_tp_methods, methods},
      {Py_tp_getset, attributes}, {0, nullptr}};
  PyType_Spec spec = {
      full.c_str(), sizeof(Holder<T>), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, slots};
  type_of<T> = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&spec));
  return type_of<T> && PyModule_AddObjectRef(module, name, reinterpret_cast<PyObject*>(type_of<T>)) == 0;
}

template <class F> inline PyCFunction fast(F f) {
  return reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(f));
}

int bind_nccl(PyObject* module);  // bind_nccl.cpp

}  // namespace shim::between_processes
