#pragma once
// Products as dot products of rows: of bfloat16 where the processor multiplies it, and of few rows of float32, which packing costs more.
#include <cstdint>

#include "gemm/problem.h"

namespace shim::gemm {

bool bfloat16_dots();  // whether this processor has them
// What launch_cpu does, for bfloat16; bfloat16_dots() must hold.
void launch_bfloat16(const GemmProblem&, const GemmBuffers&, double alpha, double beta);
// One product of float32 whose operands' rows run along k, of few rows on one side. False: not such a one, nothing was done.
bool few_rows(const GemmProblem&, const float* a, const float* b, float* d, double alpha, double beta);

}  // namespace shim::gemm
