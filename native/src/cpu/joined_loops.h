#pragma once
// Two operators of float32 in one loop.
#include "cpu/loops.h"

namespace shim {

// then(first(a, b), c), or where first's is the second operand then(c, first(a, b)), of "add", "sub" and "mul". Null: there is none.
BlockKernel joined_loop(const char* first, const char* then, bool second);

}  // namespace shim
