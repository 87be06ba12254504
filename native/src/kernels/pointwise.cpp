// Kernels of the operators in records/pointwise.
#include "cpu/pointwise_operators.h"
#include "kernels/call.h"
#include "kernels/registry.h"

namespace shim {

constexpr bool kSum = false, kDifference = true;

void register_pointwise_kernels() {
  register_kernel<&where>("where");
  register_kernel<&clamp>("clamp");
  register_kernel<[](const Tensor& self, Scalar least) { return clamp(self, least, std::nullopt); }>("clamp_min");
  register_kernel<[](const Tensor& self, Scalar most) { return clamp(self, std::nullopt, most); }>("clamp_max");
  register_kernel<&gelu>("gelu");
  register_kernel<&add_with_alpha>("add");
  register_kernel<&add_with_alpha_>("add_");
  register_kernel<&sub_with_alpha>("sub");
  register_kernel<&sub_with_alpha_>("sub_");
  register_kernel<&sum_with_alpha_out, kCuda>("add_out", &kSum);
  register_kernel<&sum_with_alpha_out, kCuda>("sub_out", &kDifference);
  register_kernel<&divide>("div_mode");
  register_kernel<&divide_>("div_mode_");
  register_kernel<&binary_operator>("number_pow", binary_op("pow"));
  for (const PointwiseOp& op : unary_ops()) {  // those that no kernel of its own has
    if (has_native(op.name)) continue;
    register_kernel<&unary_operator>(op.name, &op);
    register_kernel<&unary_operator_>((std::string(op.name) + "_").c_str(), &op);
    register_kernel<&unary_operator_out, kCuda>((std::string(op.name) + "_out").c_str(), &op);
  }
  for (const PointwiseOp& op : binary_ops()) {
    if (has_native(op.name)) continue;
    register_kernel<&binary_operator>(op.name, &op);
    register_kernel<&binary_operator_>((std::string(op.name) + "_").c_str(), &op);
    register_kernel<&binary_operator_out, kCuda>((std::string(op.name) + "_out").c_str(), &op);
  }
}

}  // namespace shim
