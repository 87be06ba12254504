// Whether operators record history, of each thread.
#include "autograd/recording.h"

namespace shim {

namespace {

thread_local bool grad_mode = true, inference_mode = false;

}  // namespace

thread_local constinit bool below_handler = false;

bool any_requires_grad(const Value* args, size_t n) {
  return !below_handler && any_tensor(args, n, [](const TensorImpl& t) { return t.requires_grad(); });
}

bool GradMode::enabled() { return grad_mode; }
void GradMode::set(bool on) { grad_mode = on; }
bool InferenceMode::enabled() { return inference_mode; }
void InferenceMode::set(bool on) { inference_mode = on; }

}  // namespace shim
