#pragma once
// Python objects of the core types, and the way between them and C++. Everything here needs the GIL.
#define PY_SSIZE_T_CLEAN
#include <Python.h>
// After it, of Python 3.10 and 3.11:
#include <structmember.h>

#include <initializer_list>
#include <utility>

#include "core/tensor.h"
#include "autograd/autograd.h"

namespace shim {

struct PyTensor {                  // torch.Tensor and its subclasses
  PyObject_HEAD TensorImpl* impl;  // owned
  PyObject* dict;                  // lazily made
  PyObject* weakrefs;
};

extern PyTypeObject* TensorType;      // torch.Tensor: hand-written, subclassable, gets operator methods at import
extern PyTypeObject* TensorBaseType;  // torch._C.TensorBase
extern PyObject* ParameterType;       // torch.nn.Parameter, set from Python

inline bool is_tensor_exact(PyObject* o) { return Py_TYPE(o) == TensorType; }
inline bool is_tensor(PyObject* o) {  // subclasses too
  return Py_TYPE(o) == TensorType || PyType_IsSubtype(Py_TYPE(o), TensorBaseType);
}
inline TensorImpl* unwrap(PyObject* o) { return reinterpret_cast<PyTensor*>(o)->impl; }  // borrowed
PyObject* wrap(const Tensor&);                    // new reference; the existing object if there is one; None for null
PyObject* wrap(Tensor&&);                         // the same; a new object takes over the tensor's reference
PyObject* wrap_as(const Tensor&, PyTypeObject*);  // as an instance of a subclass

PyObject* dtype_object(DType);  // new reference to the singleton
bool is_dtype(PyObject*);
DType dtype_of(PyObject*);  // of a torch.dtype; also Python's float, int, bool, complex types
PyObject* device_object(Device);
bool is_device(PyObject*);
Device device_of(PyObject*);                 // torch.device, str, int
const char* utf8(PyObject* string);          // throws Error where it has none
bool unpack_int(PyObject* o, int64_t* out);  // an int of 64 bits; false with PyTorch's ValueError set
bool unpack_flag(PyObject* o, const char* argument,
    bool* out);                                 // a bool; false with TypeError set: "f(): argument 'x' (position 1)"
PyObject* storage_object(const Ref<Storage>&);  // torch.UntypedStorage
PyObject* size_object(IntArrayRef);             // torch.Size
PyObject* layout_object(int);                   // torch.strided is 0
int layout_of(PyObject*);                       // -1 if it is none
PyObject* memory_format_object(MemoryFormat);
bool memory_format_of(PyObject*, MemoryFormat*);

extern PyObject* out_of_memory_type;     // torch.OutOfMemoryError, set from Python; or null
void raise(const Error&);                // sets the Python exception of the error's kind
struct PythonError : std::exception {};  // thrown by C++ code after a Python error was set; guarded() keeps that error
void raise_caught();                     // of a handler: sets the Python exception of what it caught
// Runs f and turns C++ exceptions into a Python one: return guarded([&]() -> PyObject* {...});
template <class F> auto guarded(F&& f) -> decltype(f()) {
  try {
    return f();
  } catch (...) { raise_caught(); }
  return decltype(f()){};
}
// For setters: 0, or -1 with the error set.
template <class F> int assigned(F&& f) {
  return guarded([&]() -> int { return f(), 1; }) - 1;
}
// Whether Python objects may be touched: by this thread with the lock that it holds, also while the interpreter ends and collects
// what is left, or after it took the lock. False once the interpreter is gone: what it held is the system's.
inline bool python_lives() {
  PyThreadState* mine = PyGILState_GetThisThreadState();
  return (mine && mine == _PyThreadState_UncheckedGet()) || Py_IsInitialized();
}
struct GilAcquire {
  PyGILState_STATE s = PyGILState_Ensure();
  ~GilAcquire() { PyGILState_Release(s); }
};
struct GilRelease {
  PyThreadState* s = PyEval_SaveThread();
  ~GilRelease() { PyEval_RestoreThread(s); }
};

Py_ssize_t level_outside();  // the stacklevel, for warnings, of the nearest Python code that is not the package's own
int warn_once(bool* given,
    const char*
        text);  // a UserWarning, once (each time after torch.set_warn_always(True)); -1 where it was made an error
bool make_require_grad(PyObject* tensor);  // requires_grad=True of a factory; false with the error set

PyObject* tensor_over_array(
    PyObject* array);  // new reference; null without an error where it is no array that a tensor can share

// What a file adds to the module `shim_torch._impl.native._core`: functions, and what is done once they are there (-1: an error is set).
struct ModulePart {
  ModulePart(std::initializer_list<PyMethodDef> functions, int (*prepare)(PyObject* module) = nullptr);
};
// What a file adds to torch.Tensor (torch._C.TensorBase).
struct TensorPart {
  TensorPart(std::initializer_list<PyMethodDef> methods, std::initializer_list<PyGetSetDef> attributes = {});
};

// What comes before these parts, in the order of module.cpp.
int bind_dtype(PyObject* module);  // torch.dtype, device, Size, layout, memory_format
int bind_tensor(PyObject* module);
int bind_storage(PyObject* module);
int bind_operators(PyObject* module);  // the types of their callables
int bind_autograd(PyObject* module);
int bind_triton(PyObject* module);  // launches of Triton kernels
int bind_trace(PyObject* module);

// --- entries of the tables that a type or a module is made of ---

template <class F> PyType_Slot slot(int id, F* f) { return {id, reinterpret_cast<void*>(f)}; }
inline PyType_Slot documentation_slot(const char* text) { return {Py_tp_doc, const_cast<char*>(text)}; }

// Functions that take their arguments as CPython gives them.
inline PyMethodDef raw_function(const char* name, PyObject* (*f)(PyObject*, PyObject* const*, Py_ssize_t),
    const char* doc = nullptr, int more = 0) {
  return {name, reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(f)), METH_FASTCALL | more, doc};
}
inline PyMethodDef raw_function(const char* name, PyObject* (*f)(PyObject*, PyObject* const*, Py_ssize_t, PyObject*),
    const char* doc = nullptr, int more = 0) {
  return {
      name, reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(f)), METH_FASTCALL | METH_KEYWORDS | more, doc};
}
inline PyMethodDef raw_function(const char* name, PyCFunctionWithKeywords f, const char* doc = nullptr, int more = 0) {
  return {
      name, reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(f)), METH_VARARGS | METH_KEYWORDS | more, doc};
}

inline PyMemberDef offset_member(const char* name, size_t offset) {  // "__dictoffset__" and its like
  return {name, T_PYSSIZET, Py_ssize_t(offset), READONLY, nullptr};
}
inline PyGetSetDef dict_attribute() {
  return {"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict, nullptr, nullptr};
}

// What a traverse and a clear do with an object's references; null ones are passed over.
template <class... P> int visit_each(visitproc visit, void* arg, P*... held) {
  int result = 0;
  static_cast<void>(((held && (result = visit(reinterpret_cast<PyObject*>(held), arg))) || ...));
  return result;
}
template <class... P> int clear_each(P*&... held) {
  (Py_XDECREF(std::exchange(held, nullptr)), ...);
  return 0;
}
// The end of a dealloc: the memory, and the reference that an object of a heap type has of its type.
inline void free_object(PyObject* o) {
  PyTypeObject* type = Py_TYPE(o);
  type->tp_free(o);
  Py_DECREF(type);
}

// Makes a type and puts it into the module, unless that is null; null with an error set.
PyTypeObject* add_type(PyObject* module, PyType_Spec& spec, const char* name = nullptr, PyTypeObject* base = nullptr);
// Of objects that are called by the vectorcall that each has at an offset, and that only C++ makes. `name` lives for ever.
PyTypeObject* add_called_type(
    const char* name, size_t size, size_t vectorcall, destructor dealloc, traverseproc traverse, inquiry clear);

}  // namespace shim
