#pragma once
// Pointwise operators, copies and casts on CUDA: one kernel an operator and its types, compiled when first needed.
#include <string>
#include <string_view>
#include <vector>

#include "cpu/loops.h"
#include "cuda/driver.h"

namespace shim::cuda {

// operands[0] is the output, the others broadcast against `shape`; where numbers[k] is set, operand k is a number of the
// compute dtype in host memory. `op` is the operator's name in the pointwise table ("copy" for a copy or cast).
// False where there is no such kernel (complex numbers, no NVRTC, more than 10 dimensions): the caller does it otherwise.
struct Elementwise {
  const char* op;
  DType in, result;
  int count;
  Operand operands[kMaxOperands];
  bool numbers[kMaxOperands] = {};
  double extra[3] = {};  // what operators whose functor takes extra numbers get, in the compute dtype
};
struct Functor {   // of functors_source.h
  const char* op;  // whose functor it is; this address is the operator's own
  std::string name;
  int inputs;
  bool extra;  // takes up to three numbers besides
};
const Functor* functor_of(std::string_view op);  // null if there is none
std::vector<const Functor*> all_functors();
bool run_elementwise(const Elementwise&, DimSpan shape, int device);

const char* element_type(DType);  // its name in our CUDA sources; null if it has none
const char* compute_type(DType);  // the name of the type it is computed in
bool elementwise_dtype(DType);    // whether tensors of this dtype can be read and written
bool copy_elementwise(
    const Tensor& self, const Tensor& src);  // on one device, any strides, any dtypes; shapes are equal
// What the compiler says of a kernel, empty when it compiles: needs NVRTC and no GPU.
std::string compile_elementwise(
    const char* op, DType in, DType result, DType out, int inputs, bool flat, int architecture);
bool elementwise_ready();  // NVRTC and the driver are there

}  // namespace shim::cuda
