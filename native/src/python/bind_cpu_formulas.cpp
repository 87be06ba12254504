// What the gradients of pointwise operators ask before they take one kernel for what the formulas say in several.
#include <algorithm>

#include "autograd/piecewise_constant.h"
#include "python/module_function.h"
#include "python/torch_dispatch.h"

namespace shim {

namespace {

bool seen() { return forward_gradients() || (python_dispatch && dispatch_mode_active()); }

const TensorImpl* plain_tensor(PyObject* o) {  // null for others
  return is_tensor(o) && is_plain(Tensor(unwrap(o))) ? unwrap(o) : nullptr;
}

bool one_pass(Rest given) {
  const TensorImpl* first = given.size && !GradMode::enabled() && !seen() ? plain_tensor(given.args[0]) : nullptr;
  return first && is_floating(first->dtype()) && first->itemsize() > 1 && std::ranges::all_of(given, [&](PyObject* o) {
    const TensorImpl* t = plain_tensor(o);
    return t && (t->device().is_cpu() || t->device().is_cuda()) && t->dtype() == first->dtype() &&
           std::ranges::equal(t->sizes(), first->sizes());
  });
}

bool unseen(Rest given) {
  return !seen() && std::ranges::all_of(given, [](PyObject* o) {
    const TensorImpl* t = plain_tensor(o);
    return t && t->device().is_cpu();
  });
}

bool unseen_on_cuda(PyObject* o) {
  const TensorImpl* t = seen() ? nullptr : plain_tensor(o);
  return t && t->device().is_cuda();
}

bool norms_channels(Rest given) {
  const TensorImpl* x = seen() || !given.size ? nullptr : plain_tensor(given.args[0]);
  if (!x || x->dim() < 2 || !x->numel() || !is_floating(x->dtype())) return false;
  if (!x->is_contiguous() && !(x->dim() == 4 && x->is_contiguous(MemoryFormat::channels_last))) return false;
  return std::all_of(given.begin() + 1, given.end(), [&](PyObject* o) {
    const TensorImpl* t = o == Py_None ? nullptr : plain_tensor(o);
    return o == Py_None || (t && t->dim() == 1 && t->numel() == x->sizes()[1] && t->dtype() == x->dtype() &&
                               t->device() == x->device());
  });
}

Tensor flat_input_of(const Tensor& t) {  // autograd/piecewise_constant.h
  return GradMode::enabled() && t->requires_grad() && !seen() && is_plain(t) ? flat_input(t) : t;
}

const ModulePart cpu_formulas_functions{{function<&flat_input_of>("flat_input",
                                             "The tensor; its gradient's own gradient by it is zeros, not absent."),
    function<&unseen>("unseen",
        "Whether CPU tensors have values of their own, and no handler, mode or tangent sees what is done with them."),
    function<&norms_channels>("norms_channels",
        "Whether shim::channel_norm normalizes a tensor with these parameters and statistics, a number a channel each "
        "or None."),
    function<&unseen_on_cuda>("unseen_on_cuda",
        "Whether a CUDA tensor has values of its own, and no handler, mode or tangent sees what is done with it."),
    function<&one_pass>(
        "one_pass", "Whether a gradient of real floating tensors alike may be one kernel, for nobody looks on.")}};

}  // namespace

}  // namespace shim
