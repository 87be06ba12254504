#pragma once
// Whether a call's history is to be recorded.
#include "autograd/autograd.h"
#include "ops/value.h"

namespace shim {

extern thread_local constinit bool below_handler;     // a handler of operators runs on this thread: nothing is recorded
bool any_requires_grad(const Value* args, size_t n);  // looks into lists of tensors too

}  // namespace shim
