// Kernels of linear layers and of products of matrices and vectors.
#include "gemm/operators.h"
#include "kernels/call.h"
#include "kernels/registry.h"
#include "ops/recorded_call.h"

namespace shim {
namespace {

using gemm::Product;

void register_layers() {
  register_kernel<&gemm::linear>("linear");
  register_kernel<&gemm::fused_linear>("fused_linear");
  register_kernel<&gemm::activation_slope>("activation_backward");
  register_kernel<&gemm::activation_slope_and_sum, kCuda>("activation_backward_bias");
  register_kernel<&gemm::scaled_product, kCuda>("_scaled_mm");
  register_kernel<&gemm::gradient_of_input>("linear_backward_input");
  register_kernel<&gemm::gradient_of_weight>("linear_backward_weight");
  register_kernel<&gemm::gradient_of_bias>("linear_backward_bias");
}

// outer is a composite: where history is kept, that of the operator whose gradients are products.
Outcome<Tensor> outer(const Tensor& self, const Tensor& other) {
  const auto wants = [](const Tensor& t) { return t->requires_grad(); };
  if (!GradMode::enabled() || below_handler || !(wants(self) || wants(other))) return gemm::outer_product(self, other);
  if (const char* why = gemm::no_outer_product(self, other)) return NotMine{why};
  Operator* kept = find_operator("shim::_outer", "");
  if (!kept || !recorded_call) return NotMine{"no operator shim::_outer"};
  return recorded_call(*kept, self, other);
}

constexpr Product kMatrices = Product::mm, kMatrixAndVector = Product::mv, kBatches = Product::bmm,
                  kVectors = Product::dot;

void register_products() {
  register_kernel<&gemm::product>("mm", &kMatrices);
  register_kernel<&gemm::product>("mv", &kMatrixAndVector);
  register_kernel<&gemm::product>("bmm", &kBatches);
  register_kernel<&gemm::product>("dot", &kVectors);
  // Natively only where no history is kept, so that its graph is that of mm and bmm.
  register_kernel<&gemm::matmul_operator, kAnyWithoutHistory>("matmul");
  register_kernel<&gemm::added_product>("addmm", &kMatrices);
  register_kernel<&gemm::added_product>("addmv", &kMatrixAndVector);
  register_kernel<&gemm::added_product>("baddbmm", &kBatches);
  register_kernel<&gemm::activated_product>("_addmm_activation");
  register_kernel<&outer>("outer");
  register_kernel<&gemm::outer_product>("_outer");
  register_kernel<&gemm::outer_gradient>("outer_backward_input");
  register_kernel<&gemm::outer_gradient_other>("outer_backward_other");
}

void register_products_elsewhere() {
  register_kernel<&gemm::product_in_dtype>("mm_dtype", &kMatrices);
  register_kernel<&gemm::product_in_dtype>("bmm_dtype", &kBatches);
  register_kernel<&gemm::added_product_in_dtype>("addmm_dtype", &kMatrices);
  register_kernel<&gemm::added_product_in_dtype>("baddbmm_dtype", &kBatches);
  register_kernel<&gemm::product_out>("mm_out", &kMatrices);
  register_kernel<&gemm::product_out>("bmm_out", &kBatches);
  register_kernel<&gemm::product_in_dtype_out>("mm_dtype_out", &kMatrices);
  register_kernel<&gemm::product_in_dtype_out>("bmm_dtype_out", &kBatches);
  register_kernel<&gemm::added_product_out>("addmm_out", &kMatrices);
  register_kernel<&gemm::added_product_out>("baddbmm_out", &kBatches);
  register_kernel<&gemm::added_product_in_dtype_out>("addmm_dtype_out", &kMatrices);
  register_kernel<&gemm::added_product_in_dtype_out>("baddbmm_dtype_out", &kBatches);
  register_kernel<&gemm::added_product_>("addmm_", &kMatrices);
  register_kernel<&gemm::added_product_>("baddbmm_", &kBatches);
}

}  // namespace

void register_gemm_kernels() {
  register_layers();
  register_products();
  register_products_elsewhere();
}

}  // namespace shim
