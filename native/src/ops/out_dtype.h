#pragma once
// Which dtypes out= and the tensors of in-place operators may have, where PyTorch is stricter than a cast.
#include "core/dtype.h"
#include "ops/operator.h"

namespace shim {

// Of an out= of another dtype; {r} and {o} are explained in out_dtype.cpp.
inline constexpr const char* kStructuredOut = "Expected out tensor to have dtype {r}, but got {o} instead";
// The same text, of operators that are written in Python for meta tensors and ask for the very dtype there: {} prints as
// nothing, and tells the two from each other.
inline constexpr const char* kExactOut = "Expected out tensor to have dtype {r}, but got {o} instead{}";

void check_out_dtype(const Operator& f, DType result, DType out);  // where PyTorch asks for the very dtype
// Of a meta tensor, for which most operators are written in Python: in its words.
void check_meta_out_dtype(const Operator& f, DType result, DType out);
// In an operator's own words, which may name the out= argument.
void check_result_cast(const Operator& f, DType result, DType out, const std::string& argument = "");
// Sums whose dtype= has to be that of out. `own`: which of them PyTorch runs; `given`: by dtype=, not the input's.
void check_sum_dtype(const Operator& f, const std::string& own, DType wanted, DType out, bool given);

}  // namespace shim
