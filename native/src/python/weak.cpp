// Parts that are not linked in: empty defaults, so that the core builds while they are developed.
#include "autograd/autograd.h"
#include "ops/kernels.h"
#include "ops/operator.h"
#include "python/tensor_type.h"

#define WEAK __attribute__((weak))
namespace shim {
WEAK int bind_operators(PyObject*) { return 0; }
WEAK int bind_autograd(PyObject*) { return 0; }
WEAK int bind_kernels(PyObject*) { return 0; }
WEAK PyObject* construct_tensor(PyTypeObject*, PyObject*, PyObject*) { return PyErr_Format(PyExc_NotImplementedError, "torch.Tensor(...)"); }
WEAK void copy_(const Tensor&, const Tensor&, bool) { fail(Kind::NotImplemented, "copy_"); }
WEAK Tensor clone(const Tensor&, MemoryFormat) { fail(Kind::NotImplemented, "clone"); }
WEAK bool any_requires_grad(PyObject* const*, size_t) { return false; }
WEAK void record_history(Operator&, PyObject* const*, size_t, PyObject*, bool) {}
WEAK void check_inplace(const Tensor&) {}
WEAK void mark_view(const Tensor&, const Tensor&) {}
WEAK Edge gradient_edge(const Tensor&) { return {}; }
thread_local bool grad_enabled = true;
WEAK bool GradMode::enabled() { return grad_enabled; }
WEAK void GradMode::set(bool on) { grad_enabled = on; }
}  // namespace shim
