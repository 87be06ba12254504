#pragma once
// A call of an operator with values alone (ops/value.h), where nothing but its kernel has a say in it.
#include "ops/operator.h"
#include "ops/value.h"

namespace shim {

// Runs a kernel, counts what it wrote and ties views to their bases. False, with nothing done: no kernel takes the call, or more
// than a kernel is in it (a gradient, autocast, a trace, a profile, bits that are to be resolved, a kernel of torch.library). Whether
// anything else of the interpreter's is, the caller asks before. Errors: those of the operator.
bool call_directly(Operator&, const Value* args, size_t n, Answer&);

}  // namespace shim
