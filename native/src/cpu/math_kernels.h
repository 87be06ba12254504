#pragma once
#include "cpu/loops.h"

namespace shim {

BlockKernel double_math_kernel(const char* name);  // the float64 loop of a function, vectorised; null if there is none

}  // namespace shim
