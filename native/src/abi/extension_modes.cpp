// What C++ extensions count and switch without Python: references, modes of autograd, the interpreter's lock.
#include "abi/extension_cells.h"
#include "autograd/autograd.h"
#include "core/interpreter_lock.h"

using namespace shim;

void shim_cxx_retain(ShimTensor* t) {
  if (abi::is_defined(handle_in(t))) handle_in(t)->retain();
}
void shim_cxx_drop(ShimTensor* t) {
  if (abi::is_defined(handle_in(t))) handle_in(t)->release();
}

int shim_cxx_grad_mode(int on) {
  const bool was = GradMode::enabled();
  if (on >= 0) GradMode::set(on != 0);
  return was;
}

int shim_cxx_inference_mode(int on) {
  const bool was = InferenceMode::enabled();
  if (on >= 0) InferenceMode::set(on != 0);
  return was;
}

void* shim_cxx_unlock() { return interpreter_lock.release ? interpreter_lock.release() : nullptr; }
void shim_cxx_lock(void* was) {
  if (was) interpreter_lock.take(was);
}
