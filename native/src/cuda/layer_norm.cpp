#include "cuda/layer_norm.h"

#include <algorithm>

#include "cuda/norm.h"

namespace shim::cuda {
namespace {

Outcome<Tensor> norm_of_last(const Tensor& input, IntArrayRef shape, const OptionalTensor& weight,
    const OptionalTensor& bias, bool centred, double eps) {
  const IntArrayRef sizes = input->sizes();
  if (shape.empty() || shape.size() > sizes.size() || !std::ranges::equal(shape, sizes.last(shape.size())))
    return NotMine{"a normalized_shape that is not the input's"};
  Norm n{contiguous(input), {}, {}, product(shape), 0, 1, centred};
  for (const auto& [given, part] : {std::pair{&weight, &n.weight}, {&bias, &n.bias}}) {
    if (!*given) continue;
    const Tensor& t = **given;
    if (t->dtype() != input->dtype() || t->device() != input->device() || !std::ranges::equal(t->sizes(), shape))
      return NotMine{"a weight or bias of another shape, dtype or device"};
    *part = contiguous(t);
  }
  Tensor mean, rstd;
  return or_not_mine(norm(n, eps, &mean, &rstd), "no floats, too many rows, or a kernel that could not be compiled");
}

}  // namespace

Outcome<Tensor> layer_norm(const Tensor& input, IntArrayRef shape, const OptionalTensor& weight,
    const OptionalTensor& bias, double eps, Ignored) {
  return norm_of_last(input, shape, weight, bias, true, eps);
}
Outcome<Tensor> rms_norm(
    const Tensor& input, IntArrayRef shape, const OptionalTensor& weight, std::optional<double> eps) {
  return norm_of_last(
      input, shape, weight, std::nullopt, false, eps.value_or(input->dtype() == DType::f64 ? 0x1p-52 : 0x1p-23));
}

}  // namespace shim::cuda
