// Linear layers, their activations and gradients as the operators are called.
#include <algorithm>

#include "gemm/arguments.h"
#include "gemm/operators.h"
#include "ops/gemm_settings.h"
#include "ops/linear.h"

namespace shim::gemm {
namespace {

constexpr const char* kNoActivation = "another activation than relu, gelu and gelu_tanh";

bool same_sizes(const Tensor& a, const Tensor& b) { return std::ranges::equal(a->sizes(), b->sizes()); }

// Whether a bias is one that linear_forward adds.
bool bias_fits(const TensorImpl& x, const TensorImpl& w, const TensorImpl& b) {
  if (b.dim() == 1) return b.numel() == w.sizes_data()[0] || b.numel() == 1;
  // Of other biases PyTorch folds those that are vectors beside dimensions of 1: (1, N) is the one that needs no second look.
  const auto many = std::count_if(b.sizes().begin(), b.sizes().end(), [](int64_t n) { return n != 1; });
  if (x.dim() != 2 && b.dim() > 1 && many == 1 && (b.dim() > 2 || x.dim() == 1 || b.sizes_data()[0] != 1)) return false;
  Dims sizes(x.sizes().begin(), x.sizes().end());
  sizes.back() = w.sizes_data()[0];
  return spreads(b, sizes.data(), int(sizes.size()));
}

// Why (input, weight, bias) are not as linear_forward wants them; null: they are.
const char* unfitting(const TensorImpl& x, const TensorImpl& w, const TensorImpl* b) {
  if (!multiplied(x)) return kNotFloats.reason;
  if (!alike(x, w) || (b && !alike(x, *b))) return kNotAlike.reason;
  if (w.dim() != 2 || x.dim() == 0 || last(x) != last(w)) return kNotFitting.reason;
  return b && !bias_fits(x, w, *b) ? "a bias of other sizes" : nullptr;
}

double work_of(const Tensor& x, const Tensor& w) { return double(x->numel()) * double(w->sizes_data()[0]); }

// A product, and a sum of its own.
Tensor unfused(const Tensor& x, const Tensor& w, const Tensor& b) {
  return computed(*x, work_of(x, w), [&] {
    Tensor y = linear_forward(x, w, {});
    return y && b ? add(y, b, Scalar{Scalar::Int, 1}) : y;
  });
}

// The product, the sum and the activation, each by itself: (result, what its gradient needs).
Outcome<std::tuple<Tensor, Tensor>> unfused_activation(
    const Tensor& x, const Tensor& w, const Tensor& b, Activation activation, bool keep) {
  const Tensor z = unfused(x, w, b);
  if (!z) return kNoProduct;
  const bool relu = activation == Activation::relu;
  const Tensor y = unary(relu ? "relu" : activation == Activation::gelu_tanh ? "gelu_tanh" : "gelu", z);
  if (!y) return NotMine{"an activation without a kernel"};
  const int64_t none[1] = {0};
  return std::tuple{y, !keep ? empty(none, x->dtype(), x->device()) : relu ? alias(*y) : z};
}

// Makes a gradient of the dtype of what was kept for it; null where they are not both floats, or alike, on one device.
Tensor fitting(const Tensor& g, const Tensor& kept) {
  if (multiplied(*g) && alike(*g, *kept)) return g;
  if (!floats(*g) || !floats(*kept) || g->device() != kept->device() || g->device().is_meta()) return {};
  return to_dtype(g, kept->dtype());
}

}  // namespace

Outcome<Tensor> linear(const Tensor& input, const Tensor& weight, const OptionalTensor& bias) {
  const Tensor& b = or_null(bias);
  if (const char* why = unfitting(*input, *weight, b.get())) return NotMine{why};
  if (b && legacy_linear()) return or_not_mine(unfused(input, weight, b), kNoProduct.reason);
  return or_not_mine(
      computed(*input, work_of(input, weight), [&] { return linear_forward(input, weight, b); }), kNoProduct.reason);
}

Outcome<std::tuple<Tensor, Tensor>> fused_linear(
    const Tensor& input, const Tensor& weight, const OptionalTensor& bias, std::string_view activation, bool keep) {
  const Tensor& b = or_null(bias);
  if (!floats(*input)) return kNotFloats;
  if (const char* why = unfitting(*input, *weight, b.get())) return NotMine{why};
  const Activation which = activation_named(activation);
  if (which == Activation::none) return NotMine{kNoActivation};
  if (legacy_linear()) return unfused_activation(input, weight, b, which, keep);
  Activated r =
      computed(*input, 2 * work_of(input, weight), [&] { return linear_activation(input, weight, b, which, keep); });
  if (!r.y) return kNoProduct;
  return std::tuple{std::move(r.y), std::move(r.kept)};
}

Outcome<Tensor> activation_slope(const Tensor& grad_output, const Tensor& saved, std::string_view activation) {
  const Activation which = activation_named(activation);
  if (which == Activation::none) return NotMine{kNoActivation};
  if (!floats(*grad_output) || !same_sizes(grad_output, saved)) return kNotFitting;
  const Tensor g = fitting(grad_output, saved);
  if (!g) return kNotAlike;
  return or_not_mine(
      computed(*g, 32.0 * double(g->numel()), [&] { return activation_backward(which, g, saved); }), kNoProduct.reason);
}

Outcome<std::tuple<Tensor, Tensor>> activation_slope_and_sum(
    const Tensor& grad_output, const Tensor& saved, std::string_view activation) {
  const Activation which = activation_named(activation);
  if (which == Activation::none) return NotMine{kNoActivation};
  if (!floats(*grad_output)) return kNotFloats;
  if (!alike(*grad_output, *saved)) return kNotAlike;
  if (grad_output->dim() < 2 || !same_sizes(grad_output, saved)) return kNotFitting;
  SlopeAndSum r = activation_backward_bias(which, grad_output, saved, true);
  if (!r.dz) return NotMine{"a kernel that could not be compiled"};
  return std::tuple{std::move(r.dz), std::move(r.db)};
}

namespace {

// Why cuBLASLt has no such product; null: it has.
const char* unscalable(const TensorImpl& a, const TensorImpl& b, const TensorImpl& scale_a, const TensorImpl& scale_b) {
  const auto float8 = [](DType t) { return t == DType::f8e4m3fn || t == DType::f8e5m2; };
  if (!float8(a.dtype()) || !float8(b.dtype()) || (a.dtype() == DType::f8e5m2 && b.dtype() == DType::f8e5m2))
    return "other dtypes than float8";
  if (a.dim() != 2 || b.dim() != 2 || last(a) != b.sizes_data()[0] || last(a) % 16 || last(b) % 16 || !a.numel() ||
      !b.numel())
    return "sizes that are no multiples of 16";
  if (b.device() != a.device() || scale_a.device() != a.device() || scale_b.device() != a.device())
    return kNotAlike.reason;
  if (scale_a.dtype() != DType::f32 || scale_b.dtype() != DType::f32 || !scale_a.is_contiguous() ||
      !scale_b.is_contiguous())
    return "scales that are not contiguous float32";
  if (scale_a.numel() == 1 && scale_b.numel() == 1) return nullptr;
  const bool rows = scale_a.dim() == 2 && scale_b.dim() == 2 && scale_a.sizes_data()[0] == a.sizes_data()[0] &&
                    last(scale_a) == 1 && scale_b.sizes_data()[0] == 1 && last(scale_b) == last(b);
  return rows ? nullptr : "scales of blocks";
}

}  // namespace

Outcome<Tensor> scaled_product(const Tensor& self, const Tensor& mat2, const Tensor& scale_a, const Tensor& scale_b,
    const OptionalTensor& bias, std::nullopt_t, DType out_dtype, bool use_fast_accum) {
  if (const char* why = unscalable(*self, *mat2, *scale_a, *scale_b)) return NotMine{why};
  return or_not_mine(scaled_mm(self, mat2, scale_a, scale_b, or_null(bias), out_dtype, use_fast_accum),
      "a layout or a result that cuBLASLt has no product for");
}

Outcome<Tensor> gradient_of_input(const Tensor& grad_output, const Tensor& weight, std::optional<DType> out_dtype) {
  if (weight->dim() != 2 || grad_output->dim() == 0 || last(*grad_output) != weight->sizes_data()[0])
    return kNotFitting;
  const DType to = result_dtype(out_dtype, weight->dtype());
  if (to == DType::undefined) return kNoSuchResult;
  const Tensor g = fitting(grad_output, weight);
  if (!g) return kNotAlike;
  return or_not_mine(
      computed(*g, double(g->numel()) * double(last(*weight)), [&] { return linear_backward_input(g, weight, to); }),
      kNoProduct.reason);
}

Outcome<Tensor> gradient_of_weight(
    const Tensor& grad_output, const Tensor& input, bool transposed, std::optional<DType> out_dtype) {
  if (grad_output->dim() == 0 || grad_output->dim() != input->dim() ||
      !std::equal(grad_output->sizes().begin(), grad_output->sizes().end() - 1, input->sizes().begin()))
    return kNotFitting;
  const DType to = result_dtype(out_dtype, input->dtype());
  if (to == DType::undefined) return kNoSuchResult;
  const Tensor g = fitting(grad_output, input);
  if (!g) return kNotAlike;
  return or_not_mine(computed(*g, double(g->numel()) * double(last(*input)),
                         [&] { return linear_backward_weight(g, input, transposed, to); }),
      kNoProduct.reason);
}

Outcome<Tensor> gradient_of_bias(const Tensor& grad_output) {
  if (!floats(*grad_output)) return kNotFloats;
  if (grad_output->device().is_meta()) return NotMine{"a meta tensor"};
  if (grad_output->dim() == 0) return kNotFitting;
  return or_not_mine(
      computed(*grad_output, double(grad_output->numel()), [&] { return linear_backward_bias(grad_output); }),
      kNoProduct.reason);
}

}  // namespace shim::gemm
