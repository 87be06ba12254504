// Kernels of recurrent layers' operators.
#include "cpu/recurrent.h"
#include "kernels/call.h"
#include "kernels/registry.h"

namespace shim {

void register_recurrent_kernels() {
  register_kernel<&lstm_layer, kCpu>("lstm_layer");
  register_kernel<&lstm_layer_backward, kCpu>("lstm_layer_backward");
  register_kernel<&lstm_step, kCpu>("lstm_step");
  register_kernel<&lstm_step_backward, kCpu>("lstm_step_backward");
}

}  // namespace shim
