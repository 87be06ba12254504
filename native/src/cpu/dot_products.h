#pragma once
// Matrix products by dot products of rows: bfloat16 where the processor multiplies it, and float32 with few rows, where packing would cost
// more than the product.
#include <cstdint>

#include "ops/gemm_problem.h"

namespace shim::gemm {

bool bfloat16_dots();  // whether this processor has them
// What launch_cpu does, for bfloat16; bfloat16_dots() must hold.
void launch_bfloat16(const GemmProblem&, const GemmBuffers&, double alpha, double beta);
// One float32 product whose operands are contiguous along k, one of them with few rows. False: another kind of product; nothing was done.
bool few_rows(const GemmProblem&, const float* a, const float* b, float* d, double alpha, double beta);

}  // namespace shim::gemm
