// The module's functions about recurrent layers by cuDNN.
#include "autograd/autograd.h"
#include "cuda/cudnn_rnn.h"
#include "python/forward_mode.h"
#include "python/module_function.h"
#include "python/torch_dispatch.h"

namespace shim {
namespace {

PyObject* cudnn_rnn_takes(PyObject*, PyObject* const* args, Py_ssize_t n) {
  if (forward_gradients() || (python_dispatch && dispatch_mode_active())) Py_RETURN_FALSE;
  for (Py_ssize_t i = 0; i < n; ++i) {
    if (!is_tensor(args[i])) Py_RETURN_FALSE;
    const Tensor t(unwrap(args[i]));
    if (!cudnn::takes(t) || !has_data(*t) || !is_plain(t)) Py_RETURN_FALSE;
  }
  Py_RETURN_TRUE;
}

std::optional<Tensor> dropout_state(double p, int64_t seed, int64_t device) {
  const Tensor state = cudnn::dropout_state(p, seed, int(device));
  return state ? std::optional(state) : std::nullopt;
}

PyMethodDef recurrent_functions[] = {
    function<&cudnn::weight_buffer>("cudnn_rnn_buffer",
        "(weights, stride, input_size, mode, hidden_size, proj_size, num_layers, bidirectional): the weights of "
        "recurrent layers in one buffer, and views of their places in it; None without cuDNN."),
    {"cudnn_rnn_takes", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(cudnn_rnn_takes)), METH_FASTCALL,
        "Whether these are CUDA tensors as cuDNN takes them, and no handler, mode or tangent goes with them."},
    function<&dropout_state>("cudnn_dropout_state",
        "(p, seed, device): the state of random numbers that cuDNN's dropout works on; None without cuDNN."),
    {nullptr, nullptr, 0, nullptr}};

}  // namespace

int bind_cuda_recurrent(PyObject* module) { return PyModule_AddFunctions(module, recurrent_functions); }

}  // namespace shim
