#include "python/batching.h"

#include "autograd/autograd.h"
#include "python/dispatch.h"
#include "python/torch_dispatch.h"

namespace shim {

PyTypeObject* batched_class = nullptr;

namespace {

PyObject* lift_function = nullptr;   // (arguments) -> arguments, or None where nothing changes
PyObject* apply_function = nullptr;  // (class, arguments) -> results

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

PyObject* set_batching(PyObject*, PyObject* args) {  // (class, lift, apply)
  PyObject *cls, *lift, *apply;
  if (!PyArg_ParseTuple(args, "O!OO", &PyType_Type, &cls, &lift, &apply)) return nullptr;
  Py_XSETREF(lift_function, Py_NewRef(lift));
  Py_XSETREF(apply_function, Py_NewRef(apply));
  Py_INCREF(cls);
  batched_class = reinterpret_cast<PyTypeObject*>(cls);
  Py_RETURN_NONE;
}

thread_local int transforms = 0;
thread_local bool inplace_allowed = false;

PyObject* count_transforms(PyObject*, PyObject* by) {  // (1 or -1): one begins or ends; 0 asks how many run
  const long n = PyLong_AsLong(by);
  if (n == -1 && PyErr_Occurred()) return nullptr;
  transforms += int(n);
  return PyLong_FromLong(transforms);
}

PyObject* count_gradient_transforms(PyObject*, PyObject* by) {  // (1 or -1), as above; those that differentiate
  const long n = PyLong_AsLong(by);
  if (n == -1 && PyErr_Occurred()) return nullptr;
  gradient_transforms = uint8_t(gradient_transforms + n);
  return PyLong_FromLong(gradient_transforms);
}

PyObject* set_made_in(
    PyObject*, PyObject* const* args, Py_ssize_t n) {  // (tensor, how many of them run): what it counted as before
  if (n != 2 || !is_tensor(args[0])) return PyErr_Format(PyExc_TypeError, "_set_made_in expects a Tensor and an int");
  const long level = PyLong_AsLong(args[1]);
  if (level == -1 && PyErr_Occurred()) return nullptr;
  const uint8_t old = std::exchange(unwrap(args[0])->made_in, uint8_t(level));
  return PyLong_FromLong(old);
}

PyObject* allow_inplace(PyObject*, PyObject* on) {
  const int truth = PyObject_IsTrue(on);
  if (truth < 0) return nullptr;
  inplace_allowed = truth;
  Py_RETURN_NONE;
}

PyObject* inplace_is_allowed(PyObject*, PyObject*) { return PyBool_FromLong(inplace_allowed); }

PyObject* require_grad(PyObject*, PyObject* tensor) {  // Tensor.requires_grad_ for the transforms' own use
  if (!is_tensor(tensor))
    return PyErr_Format(PyExc_TypeError, "require_grad expects a Tensor, not %s", Py_TYPE(tensor)->tp_name);
  return make_require_grad(tensor) ? Py_NewRef(tensor) : nullptr;
}

PyMethodDef batching_functions[] = {{"set_batching", set_batching, METH_VARARGS, nullptr},
    {"_count_transforms", count_transforms, METH_O, nullptr},
    {"_count_gradient_transforms", count_gradient_transforms, METH_O, nullptr},
    {"_set_made_in", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(set_made_in)), METH_FASTCALL, nullptr},
    {"_set_inplace_requires_grad_allowed", allow_inplace, METH_O, nullptr},
    {"_inplace_requires_grad_allowed", inplace_is_allowed, METH_NOARGS, nullptr},
    {"_require_grad", require_grad, METH_O, nullptr}, {nullptr, nullptr, 0, nullptr}};

}  // namespace

int running_transforms() { return transforms; }

bool refuse_under_transforms(const char* method) {
  const bool asks = std::string_view(method) == "requires_grad_()";
  if (!transforms || (asks && inplace_allowed)) return false;
  PyErr_Format(PyExc_RuntimeError,
      "You are attempting to call Tensor.%s %sinside of a function being transformed by a functorch transform. This is "
      "unsupported, please attempt to use the "
      "functorch transforms (e.g. grad, vjp, jacrev, jacfwd, hessian) or call %s outside of a function being "
      "transformed instead.",
      method, asks ? "(or perhaps using torch.autograd.functional.* APIs) " : "", method);
  return true;
}

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

int bind_batching(PyObject* module) { return PyModule_AddFunctions(module, batching_functions); }

}  // namespace shim
