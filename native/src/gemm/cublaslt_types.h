#pragma once
// The numbers that cuBLASLt has for dtypes and what products are computed in.
#include "cuda/cublaslt.h"
#include "ops/gemm_problem.h"

namespace shim::gemm {

inline int data_type(DType t) {
  switch (t) {
    case DType::f32: return cublaslt::r_32f;
    case DType::f64: return cublaslt::r_64f;
    case DType::f16: return cublaslt::r_16f;
    case DType::bf16: return cublaslt::r_16bf;
    case DType::f8e4m3fn: return cublaslt::r_8f_e4m3;
    case DType::f8e5m2: return cublaslt::r_8f_e5m2;
    default: return -1;
  }
}

inline int compute_type(Compute c) {
  switch (c) {
    case Compute::tf32: return cublaslt::compute_32f_fast_tf32;
    case Compute::f16: return cublaslt::compute_16f;
    case Compute::f64: return cublaslt::compute_64f;
    default: return cublaslt::compute_32f;
  }
}

inline int scale_type(Compute c) {
  return c == Compute::f64 ? cublaslt::r_64f : c == Compute::f16 ? cublaslt::r_16f : cublaslt::r_32f;
}

}  // namespace shim::gemm
