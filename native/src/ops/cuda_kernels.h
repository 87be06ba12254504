#pragma once
// What the operators of every device call for a tensor on CUDA. The definitions lie in cuda/, which is above them.
#include "ops/operand.h"
#include "ops/reduction.h"

namespace shim::cuda {

// operands[0] is the output, the others broadcast against `shape`; where numbers[k] is set, operand k is a number of the
// compute dtype in host memory. `op` is the operator's name in the pointwise table ("copy" for a copy or cast).
// False where there is no such kernel (most of complex numbers, no NVRTC, more than 10 dimensions): the caller does it otherwise.
struct Elementwise {
  const char* op;
  DType in, result;
  int count;
  Operand operands[kMaxOperands];
  bool numbers[kMaxOperands] = {};
  double extra[3] = {};  // what operators whose functor takes extra numbers get, in the compute dtype
};
bool run_elementwise(const Elementwise&, IntArrayRef shape, int device);
bool elementwise_dtype(DType);  // whether kernels compute with this dtype
bool pointwise_dtype(DType);    // those and complex numbers, which few operators take
bool elementwise_ready();       // NVRTC and the driver are there
int current_device();           // of this thread; 0 until something else is set

// `reduced[d]`: whether dimension d goes. `out` has the kept dimensions, in order, contiguous, and any dtype; computed in
// `compute`, divided by `divisor`. False where there is no kernel.
bool reduce(Reduction, const TensorImpl& self, const bool* reduced, DType compute, const Tensor& out, double divisor);
// The dot product of contiguous vectors of one dtype and length; null where there is no kernel.
Tensor dot(const Tensor& a, const Tensor& b);
// Both contiguous, the last dimension is the one; computed in `compute`. `safe`: rows of -infinity alone give zeros.
bool softmax(const TensorImpl& self, const Tensor& out, bool log, DType compute, bool safe = false);

}  // namespace shim::cuda
