// Kernels of CUDA tensors for pointwise operators that have none for every device.
#include <string>

#include "cpu/pointwise_operators.h"
#include "cuda/cross_polar.h"
#include "cuda/formulas.h"
#include "kernels/call.h"
#include "kernels/registry.h"

namespace shim {
namespace {

using cuda::functor_kernel;
using Other = const TensorOrScalar&;
using Number = std::optional<double>;

template <class... More> void register_functor(const cuda::Functor& f) {
  register_kernel<&functor_kernel<false, More...>, kCuda>(f.op, &f);
  register_kernel<&functor_kernel<true, More...>, kCuda>((std::string(f.op) + "_").c_str(), &f);
}

// With the operands that the functor has, and as many numbers as the operator's schema says.
void register_shapes(const cuda::Functor& f) {
  if (f.inputs == 1 && !f.extra) register_functor<>(f);
  if (f.inputs == 1 && f.extra) {
    register_functor<Number>(f);
    register_functor<Number, Number>(f);
    register_functor<Number, Number, Number>(f);
  }
  if (f.inputs == 2 && !f.extra) register_functor<Other>(f);
  if (f.inputs == 3 && !f.extra) register_functor<Other, Other>(f);
  if (f.inputs == 3 && f.extra) register_functor<Other, Other, Number>(f);
}

constexpr PointwiseOp kConjugate{.name = "conj"};

}  // namespace

// Called last: functors are for the operators that have no other kernel on CUDA.
void register_cuda_pointwise_kernels() {
  register_kernel<&cuda::cross, kCuda>("vector_product");
  register_kernel<&cuda::polar, kCuda>("polar");
  register_kernel<&cuda::angle, kCuda>("angle");
  register_kernel<&cuda::heaviside<false>, kCuda>("heaviside");
  register_kernel<&cuda::heaviside<true>, kCuda>("heaviside_");
  for (const char* name : {"gcd", "lcm"}) {
    register_kernel<&cuda::divisor<false>, kCuda>(name, cuda::functor_of(name));
    register_kernel<&cuda::divisor<true>, kCuda>((std::string(name) + "_").c_str(), cuda::functor_of(name));
  }
  register_kernel<&cuda::complex, kCuda>("complex");
  register_kernel<&unary_operator, kCuda>("conj_physical", &kConjugate);
  register_kernel<&unary_operator_, kCuda>("conj_physical_", &kConjugate);
  register_kernel<&cuda::masked_fill, kCuda>("masked_fill");
  register_kernel<&cuda::masked_fill_, kCuda>("masked_fill_");
  register_kernel<&cuda::masked_scale, kCuda>("masked_scale");
  for (const auto& [name, op] : {std::pair{"clamp_min_tensor", "maximum"}, std::pair{"clamp_max_tensor", "minimum"}}) {
    register_kernel<&binary_operator, kCuda>(name, binary_op(op));
    register_kernel<&binary_operator_, kCuda>((std::string(name) + "_").c_str(), binary_op(op));
    register_kernel<&binary_operator_out, kCuda>((std::string(name) + "_out").c_str(), binary_op(op));
  }
  register_kernel<&cuda::clamp_tensors, kCuda>("clamp_tensors");
  register_kernel<&cuda::round_decimals<false>, kCuda>("round_decimals");
  register_kernel<&cuda::round_decimals<true>, kCuda>("round_decimals_");
  register_kernel<&cuda::is_close, kCuda>("isclose");
  register_kernel<&cuda::pointwise_backward, kCuda>("pointwise_backward");
  register_kernel<&cuda::polygamma, kCuda>("polygamma");
  register_kernel<&cuda::glu, kCudaWithoutHistory>("glu");
  register_kernel<&cuda::glu, kCuda>("glu_of");
  register_kernel<&cuda::glu_backward, kCuda>("glu_backward");
  for (const cuda::Functor* f : cuda::all_functors())
    if (!has_cuda_kernel(f->op) && !has_cuda_kernel(std::string(f->op) + "_")) register_shapes(*f);
}

}  // namespace shim
