// torch._scaled_mm on cuBLASLt.
#include "ops/linear.h"
#include "gemm/operands.h"

namespace shim::gemm {

Tensor scaled_mm(const Tensor& a, const Tensor& b, const Tensor& scale_a, const Tensor& scale_b, const Tensor& bias,
    DType out_dtype, bool fast) {
  const bool plain_out = out_dtype == DType::bf16 || out_dtype == DType::f16 || out_dtype == DType::f32;
  if (!plain_out || (bias && out_dtype == DType::f32)) return {};
  Matrix left = matrix(a), right = matrix(b);
  if (left.holder.get() != a.get() || right.holder.get() != b.get() || left.transposed || !right.transposed)
    return {};  // TN only
  const int64_t m = left.rows, n = right.cols, sizes[2] = {m, n};
  const bool one = scale_a->numel() == 1 && scale_b->numel() == 1;
  if (!one && (scale_a->numel() != m || scale_b->numel() != n)) return {};
  Tensor out = empty(sizes, out_dtype, a->device());
  Call c = describe(left, right, Matrix{.data = out->data(), .dtype = out_dtype, .rows = m, .cols = n, .ld = n});
  c.problem.compute = Compute::f32;
  c.problem.scaling = one ? Scaling::tensor : Scaling::row;
  c.problem.fast_accumulate = fast;
  c.buffers.scale_a = scale_b->data_as<float>();  // the operands are exchanged: operands.h
  c.buffers.scale_b = scale_a->data_as<float>();
  if (bias) {
    if (bias->numel() != n || !bias->is_contiguous() || reinterpret_cast<uintptr_t>(bias->data()) % 16 != 0) return {};
    c.problem.epilogue = Epilogue::bias;
    c.problem.bias_dtype = bias->dtype();
    c.buffers.bias = bias->data();
  }
  return launch(a->device(), c.problem, c.buffers) ? out : Tensor();
}

}  // namespace shim::gemm
