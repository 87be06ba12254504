// Two layers at once in backward: the second one's input gradient goes through the first one's activation in the epilogue of the
// product, which also sums what is the first bias' gradient.
#include "gemm/cuda_kernels.h"
#include "ops/linear.h"
#include "gemm/operands.h"
#include "gemm/plan.h"
#include "ops/gemm_settings.h"
#include "gemm/skinny.h"

namespace shim::gemm {
namespace {

// What the epilogue reads: rows of whole packs, nothing to be copied. (cuBLASLt's gelu is the tanh form. Its relu reads a mask
// whose bit is set at zero, where PyTorch's derivative is 0.)
bool epilogue_reads(Activation activation, const Tensor& dy, const Tensor& weight, const Tensor& kept) {
  const DType t = dy->dtype();
  if (activation != Activation::gelu_tanh || !dy->device().is_cuda() || (t != DType::f16 && t != DType::bf16))
    return false;
  const auto alike = [&](const Tensor& o) { return o->dtype() == t && o->device() == dy->device(); };
  if (!alike(weight) || !alike(kept) || weight->dim() != 2 || kept->dim() != dy->dim() || dy->dim() < 2 ||
      !dy->numel() || !kept->numel())
    return false;
  const int64_t n = dy->sizes_data()[dy->dim() - 1];
  if (weight->sizes_data()[0] != n || weight->sizes_data()[1] != kept->sizes_data()[kept->dim() - 1] || n < 2)
    return false;
  for (int i = 0; i + 1 < dy->dim(); ++i)
    if (dy->sizes_data()[i] != kept->sizes_data()[i]) return false;
  return dy->numel() / n > kSkinnyRows;  // fewer rows have kernels of their own
}

}  // namespace

SlopeAndSum linear_backward_input_activated(
    Activation activation, const Tensor& dy, const Tensor& weight, const Tensor& kept, bool sums) {
  if (legacy_linear() || !can_launch(dy->device(), dy->dtype()) || !epilogue_reads(activation, dy, weight, kept))
    return {};
  const Matrix rows = folded(dy, false), z = folded(kept, false);
  if (z.transposed || z.ld % 8 || z.data != kept->data() || z.rows != rows.rows) return {};
  SlopeAndSum r{.dz = empty(kept->sizes(), dy->dtype(), dy->device())};
  if (sums) r.db = empty(IntArrayRef(&z.cols, 1), dy->dtype(), dy->device());
  const Matrix d{.data = r.dz->data(), .dtype = dy->dtype(), .rows = z.rows, .cols = z.cols, .ld = z.cols};
  const Call plain = describe(rows, matrix(weight), d);
  Call fused = plain;
  fused.problem.epilogue = sums ? Epilogue::dgelu_bgrad : Epilogue::dgelu;
  fused.problem.aux_ld = z.ld;
  fused.buffers.aux = z.data;
  if (sums) {
    fused.problem.bias_dtype = dy->dtype();
    fused.buffers.bias = r.db->data();
  }
  const Device device = dy->device();
  const auto run = [&](bool at_once) {
    if (at_once) return launch(device, fused.problem, fused.buffers);
    return launch(device, plain.problem, plain.buffers) &&
           activation_slope(device, activation, d, z, d, sums ? r.db->data() : nullptr);
  };
  return worth_fusing(device.index, fused.problem, fused.buffers, run) && run(true) ? r : SlopeAndSum{};
}

}  // namespace shim::gemm
