// The argument orders of PyTorch's first years: add(x, alpha, y), addmm(beta, x, alpha, a, b).
#pragma once

#include "python/arguments.h"

namespace shim {

// Binds such a call in today's order, with PyTorch's warning once; null without an error set where it is none.
Operator* bind_deprecated(const std::vector<Operator*>& candidates, const char* name, Form, const CallArgs&, Bound&);

}  // namespace shim
