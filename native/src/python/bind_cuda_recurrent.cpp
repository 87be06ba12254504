// The module's functions about recurrent layers by cuDNN.
#include <algorithm>

#include "autograd/autograd.h"
#include "cuda/cudnn_rnn.h"
#include "python/forward_mode.h"
#include "python/module_function.h"
#include "python/torch_dispatch.h"

namespace shim {
namespace {

bool cudnn_rnn_takes(Rest given) {
  if (forward_gradients() || (python_dispatch && dispatch_mode_active())) return false;
  return std::ranges::all_of(given, [](PyObject* o) {
    if (!is_tensor(o)) return false;
    const Tensor t(unwrap(o));
    return cudnn::takes(t) && has_data(*t) && is_plain(t);
  });
}

Tensor dropout_state(double p, int64_t seed, int device) { return cudnn::dropout_state(p, seed, device); }

PyMethodDef recurrent_functions[] = {
    function<&cudnn::weight_buffer>("cudnn_rnn_buffer",
        "(weights, stride, input_size, mode, hidden_size, proj_size, num_layers, bidirectional): the weights of "
        "recurrent layers in one buffer, and views of their places in it; None without cuDNN."),
    function<&cudnn_rnn_takes>("cudnn_rnn_takes",
        "Whether these are CUDA tensors as cuDNN takes them, and no handler, mode or tangent goes with them."),
    function<&dropout_state>("cudnn_dropout_state",
        "(p, seed, device): the state of random numbers that cuDNN's dropout works on; None without cuDNN."),
    {}};

}  // namespace

int bind_cuda_recurrent(PyObject* module) { return PyModule_AddFunctions(module, recurrent_functions); }

}  // namespace shim
