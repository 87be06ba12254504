// What a group of an optimizer brings for a step, as lists: its parameters that have gradients, these, and what their states hold.
#include <optional>

#include "core/sparse.h"
#include "python/batching.h"
#include "python/module_function.h"
#include "python/torch_dispatch.h"
#include "python/torch_function_state.h"

namespace shim {
namespace {

bool may_step(PyObject* o) {
  if (!is_tensor_exact(o) && reinterpret_cast<PyObject*>(Py_TYPE(o)) != ParameterType) return false;
  const TensorImpl& t = *unwrap(o);
  return !t.device().is_meta() && is_floating(t.dtype()) && !is_sparse(t) && !t.is_inference && !t.has_math_bits();
}

// A mode of Python's or a transform, which is to see what PyTorch's optimizers call.
bool others_see_operators() {
  return dispatch_mode_active() || (!torch_function::modes().empty() && !functions_disabled) || gradient_transforms ||
         running_transforms;
}

// Lists of new references, that grow together.
struct Columns {
  std::vector<OwnedRef> lists;
  explicit Columns(size_t n) {
    for (size_t i = 0; i < n; ++i) lists.push_back(owned(PyList_New(0)));
  }
  void add(size_t list, PyObject* o) {
    if (PyList_Append(lists[list], o) < 0) throw PythonError();
  }
};

// (params, state, names): a tuple of lists, the parameters with a gradient, their gradients, and the tensors of each name among their
// states; a list of parameters whose states are empty yet; or None, where they are no plain tensors of one device (and, on CUDA, dtype), or lack a
// tensor.
PyObject* step_lists(PyObject* params, PyObject* state, PyObject* names) {
  if (!PyList_Check(params) || !PyDict_Check(state) || !PyTuple_Check(names) || others_see_operators()) Py_RETURN_NONE;
  const Py_ssize_t n = PyTuple_GET_SIZE(names);
  Columns columns(size_t(n) + 2);
  OwnedRef fresh;
  std::optional<Device> device;
  DType dtype = DType::undefined;
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(params); ++i) {
    PyObject* p = PyList_GET_ITEM(params, i);
    if (!is_tensor(p)) Py_RETURN_NONE;
    const AutogradMeta* meta = unwrap(p)->autograd();
    if (!meta || !meta->grad) continue;
    OwnedRef grad = owned(wrap(meta->grad));
    if (!may_step(p) || !may_step(grad)) Py_RETURN_NONE;
    if (device && !(unwrap(p)->device() == *device)) Py_RETURN_NONE;
    if (device && device->is_cuda() && unwrap(p)->dtype() != dtype) Py_RETURN_NONE;  // a launch is of one
    device = unwrap(p)->device();
    dtype = unwrap(p)->dtype();
    PyObject* own = n ? PyDict_GetItemWithError(state, p) : Py_None;
    if (!own && PyErr_Occurred()) throw PythonError();
    if (!own || (n && PyDict_Check(own) && !PyDict_GET_SIZE(own))) {
      if (!fresh.o) fresh = owned(PyList_New(0));
      if (PyList_Append(fresh, p) < 0) throw PythonError();
      continue;
    }
    columns.add(0, p);
    columns.add(1, grad);
    for (Py_ssize_t k = 0; k < n; ++k) {
      PyObject* held = PyDict_Check(own) ? PyDict_GetItemWithError(own, PyTuple_GET_ITEM(names, k)) : nullptr;
      if (!held && PyErr_Occurred()) throw PythonError();
      if (!held || !may_step(held)) Py_RETURN_NONE;
      columns.add(size_t(k) + 2, held);
    }
  }
  if (fresh.o) return fresh.give();
  std::vector<PyObject*> all;
  for (OwnedRef& list : columns.lists) all.push_back(list.give());
  return tuple_of(all);
}

const ModulePart optimizer_functions{{function<&step_lists>("step_lists")}};

}  // namespace

}  // namespace shim
