// Whether operators record history, of each thread.
#include "autograd/autograd.h"

namespace shim {

namespace {

thread_local bool grad_mode = true, inference_mode = false;

}  // namespace

bool GradMode::enabled() { return grad_mode; }
void GradMode::set(bool on) { grad_mode = on; }
bool InferenceMode::enabled() { return inference_mode; }
void InferenceMode::set(bool on) { inference_mode = on; }

}  // namespace shim
