#include "python/batching.h"

#include "autograd/autograd.h"
#include "python/dispatch.h"
#include "python/torch_dispatch.h"

namespace shim {

PyTypeObject* batched_class = nullptr;

namespace {

PyObject* lift_function = nullptr;              // (arguments) -> arguments, or None where nothing changes
PyObject* apply_function = nullptr;             // (class, arguments) -> results

bool is_batched(PyObject* o) { return Py_TYPE(o) == batched_class; }

// Counts of an argument's tensors: those of a batch, and those that need gradients.
void count(PyObject* a, size_t* batched, size_t* wanting) {
  if (is_tensor(a)) {
    *batched += is_batched(a);
    *wanting += unwrap(a)->requires_grad();
  } else if (PyList_Check(a) || PyTuple_Check(a)) {
    for (Py_ssize_t k = 0; k < PySequence_Fast_GET_SIZE(a); ++k) {
      PyObject* item = PySequence_Fast_GET_ITEM(a, k);
      if (is_tensor(item)) count(item, batched, wanting);
    }
  }
}

PyObject* tuple_of(PyObject* const* args, size_t n) {
  PyObject* all = PyTuple_New(Py_ssize_t(n));
  for (size_t i = 0; all && i < n; ++i) PyTuple_SET_ITEM(all, Py_ssize_t(i), Py_NewRef(args[i]));
  return all;
}

PyObject* set_batching(PyObject*, PyObject* args) {         // (class, lift, apply)
  PyObject *cls, *lift, *apply;
  if (!PyArg_ParseTuple(args, "O!OO", &PyType_Type, &cls, &lift, &apply)) return nullptr;
  Py_XSETREF(lift_function, Py_NewRef(lift));
  Py_XSETREF(apply_function, Py_NewRef(apply));
  Py_INCREF(cls);
  batched_class = reinterpret_cast<PyTypeObject*>(cls);
  Py_RETURN_NONE;
}

PyMethodDef functions[] = {{"set_batching", set_batching, METH_VARARGS, nullptr}, {nullptr, nullptr, 0, nullptr}};

}  // namespace

bool any_batched(PyObject* const* args, size_t n) {
  size_t batched = 0, wanting = 0;
  for (size_t i = 0; i < n; ++i) count(args[i], &batched, &wanting);
  return batched > 0;
}

bool lift_to_batch(Bound& b) {
  if (!GradMode::enabled() || below_python_dispatch()) return true;
  size_t batched = 0, wanting = 0, tensors = 0;
  for (size_t i = 0; i < b.size(); ++i) {
    if (!b.data()[i]) return true;
    count(b.data()[i], &batched, &wanting);
    tensors += is_tensor(b.data()[i]) || PyList_Check(b.data()[i]);
  }
  if (!batched || !wanting || tensors < 2) return true;
  PyObject* all = tuple_of(b.data(), b.size());
  PyObject* lifted = all ? PyObject_CallOneArg(lift_function, all) : nullptr;
  Py_XDECREF(all);
  if (!lifted) return false;
  if (lifted != Py_None)
    for (size_t i = 0; i < b.size(); ++i) b.set(i, Py_NewRef(PyTuple_GET_ITEM(lifted, Py_ssize_t(i))));
  Py_DECREF(lifted);
  return true;
}

PyObject* apply_batched(PyObject* cls, PyObject* const* args, size_t n) {
  PyObject* all = tuple_of(args, n);
  PyObject* found = all ? PyObject_CallFunctionObjArgs(apply_function, cls, all, nullptr) : nullptr;
  Py_XDECREF(all);
  return found;
}

int bind_batching(PyObject* module) { return PyModule_AddFunctions(module, functions); }

}  // namespace shim
