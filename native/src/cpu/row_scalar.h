#pragma once
// Arithmetic of a row with one number.
#include "core/dtype.h"

namespace shim {

using RowScalar = void (*)(char* out, const char* row, const char* number, int64_t n);
// The loop of "add", "sub", "mul" or "div" in a dtype; `number_first`: of the number and each element. Null: there is none.
RowScalar row_scalar(const char* op, bool number_first, DType);

}  // namespace shim
