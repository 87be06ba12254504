// What the gradients of pointwise operators ask before they take one kernel for what the formulas say in several.
#include <algorithm>

#include "autograd/piecewise_constant.h"
#include "core/sparse.h"
#include "python/native_values.h"
#include "python/torch_dispatch.h"

namespace shim {

namespace {

// one_pass(g, saved): whether a gradient may be one kernel: of equal real floating dtypes and shapes, with values of their own,
// and neither differentiated nor seen by a handler.
PyObject* py_one_pass(PyObject*, PyObject* const* args, Py_ssize_t n) {
  if (n < 1 || GradMode::enabled() || forward_gradients() || (python_dispatch && dispatch_mode_active()))
    Py_RETURN_FALSE;
  for (Py_ssize_t i = 0; i < n; ++i) {
    if (!is_tensor(args[i])) Py_RETURN_FALSE;
    const TensorImpl &t = *unwrap(args[i]), &first = *unwrap(args[0]);
    if (!(t.device().is_cpu() || t.device().is_cuda()) || !is_floating(t.dtype()) || t.itemsize() == 1 ||
        t.dtype() != first.dtype())
      Py_RETURN_FALSE;
    if (!std::ranges::equal(t.sizes(), first.sizes()) || !is_plain(Tensor(unwrap(args[i])))) Py_RETURN_FALSE;
  }
  Py_RETURN_TRUE;
}

// unseen(tensor, ...): whether these are CPU tensors with values of their own that no handler, mode or tangent goes with.
PyObject* py_unseen(PyObject*, PyObject* const* args, Py_ssize_t n) {
  if (forward_gradients() || (python_dispatch && dispatch_mode_active())) Py_RETURN_FALSE;
  for (Py_ssize_t i = 0; i < n; ++i)
    if (!on_cpu(args[i]) || !is_plain(Tensor(unwrap(args[i])))) Py_RETURN_FALSE;
  Py_RETURN_TRUE;
}

// unseen_on_cuda(tensor): the same of a CUDA tensor
PyObject* py_unseen_on_cuda(PyObject*, PyObject* o) {
  if (!is_tensor(o) || !unwrap(o)->device().is_cuda() || forward_gradients() ||
      (python_dispatch && dispatch_mode_active()))
    Py_RETURN_FALSE;
  return PyBool_FromLong(is_plain(Tensor(unwrap(o))));
}

// flat_input(tensor): what stands for it in a formula of several operators whose slope is constant in pieces (flat.h).
PyObject* py_flat_input(PyObject*, PyObject* o) {
  if (!is_tensor(o)) return PyErr_Format(PyExc_TypeError, "flat_input(): a tensor is needed");
  const Tensor t(unwrap(o));
  if (!GradMode::enabled() || !t->requires_grad() || forward_gradients() ||
      (python_dispatch && dispatch_mode_active()) || !is_plain(t) || is_sparse(*t))
    return Py_NewRef(o);
  return wrap(flat_input(t));
}

PyMethodDef cpu_formulas_functions[] = {
    {"flat_input", py_flat_input, METH_O, "The tensor; its gradient's own gradient by it is zeros, not absent."},
    {"unseen", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(py_unseen)), METH_FASTCALL,
        "Whether CPU tensors have values of their own, and no handler, mode or tangent sees what is done with them."},
    {"unseen_on_cuda", py_unseen_on_cuda, METH_O,
        "Whether a CUDA tensor has values of its own, and no handler, mode or tangent sees what is done with it."},
    {"one_pass", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(py_one_pass)), METH_FASTCALL,
        "Whether a gradient of tensors alike may be one kernel, for nobody looks on."},
    {nullptr, nullptr, 0, nullptr}};

}  // namespace

int bind_cpu_formulas(PyObject* module) { return PyModule_AddFunctions(module, cpu_formulas_functions); }

}  // namespace shim
