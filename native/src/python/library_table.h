#pragma once
#include "dispatch/library.h"

namespace shim {

void install_library();  // what torch.library's part of the table needs of Python

// trace_run.cpp: between the two, reading values breaks no graph of a compiled function.
void enter_operator();
void leave_operator();

}  // namespace shim
