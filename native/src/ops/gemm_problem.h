#pragma once
// A matrix product as data: what is multiplied, not where, when or by whose handle. It is the plan cache's key.
#include <cstddef>
#include <cstdint>

#include "core/device.h"
#include "core/dtype.h"

namespace shim::gemm {

enum class Compute : uint8_t { f32, tf32, f16, f64 };  // what products are accumulated in

// cuBLASLt's numbers; other launchers read them the same way.
enum class Epilogue : uint16_t {
  none = 1,
  relu = 2,
  bias = 4,
  relu_bias = 6,
  gelu = 32,
  gelu_bias = 36,
  relu_aux = 130,
  relu_aux_bias = 134,
  drelu = 136,
  drelu_bgrad = 152,
  gelu_aux = 160,
  gelu_aux_bias = 164,
  dgelu = 192,
  dgelu_bgrad = 208,
  bgrad_a = 256,
  bgrad_b = 512
};

enum class Scaling : uint8_t { none, tensor, row };  // of float8 operands: one factor, or one a row of the result

// Column-major, as BLAS counts: D[m,n] = alpha * op(A)[m,k] op(B)[k,n] + beta * D, then the epilogue. A row-major matrix is
// the column-major transpose of itself, so row-major problems come here with their operands exchanged (operands.h).
struct GemmProblem {
  DType a_dtype = DType::f32, b_dtype = DType::f32, d_dtype = DType::f32, bias_dtype = DType::undefined;
  Compute compute = Compute::f32;
  Epilogue epilogue = Epilogue::none;
  bool trans_a = false, trans_b = false;
  bool accumulate = false;  // beta is not 0: D is read
  Scaling scaling = Scaling::none;
  bool fast_accumulate = false;  // float8 only
  uint8_t reduction_mask = 7;    // which split-K reductions an algorithm may use
  int64_t m = 0, n = 0, k = 0;
  int64_t lda = 0, ldb = 0, ldd = 0;
  int64_t batch = 1;  // batch 1: the strides below are 0
  int64_t stride_a = 0, stride_b = 0, stride_d = 0, stride_bias = 0;
  int64_t aux_ld = 0, aux_stride = 0;
  int32_t sm_target = 0;  // 0: all
  bool operator==(const GemmProblem&) const = default;
};

struct GemmBuffers {
  const void *a = nullptr, *b = nullptr;
  void* d = nullptr;
  void* bias = nullptr;  // read by bias epilogues, written by bgrad ones
  void* aux = nullptr;
  const float *scale_a = nullptr, *scale_b = nullptr;
};

size_t hash_of(const GemmProblem&);

// Runs the product on a device, on its current stream; false if this device has nothing that can (the caller falls back).
// CPU: float32 and float64, and bfloat16 where the processor has it, with no epilogue but none. CUDA: cuBLASLt.
bool launch(Device, const GemmProblem&, const GemmBuffers&, double alpha = 1, double beta = 0);
bool can_launch(Device, DType);  // worth preparing operands for

// cpu/blas.cpp
bool launch_cpu(const GemmProblem&, const GemmBuffers&, double alpha, double beta);
bool can_launch_cpu();
const char* cpu_library();    // what serves products on the CPU: "openblas64", "own", ...
void set_cpu_threads(int n);  // of that library (NumPy uses the same one); ignored where it cannot be told

}  // namespace shim::gemm
