#pragma once
// torch::nn::functional: the functions that hosts of kernels call, with their options. (Modules, torch::nn::Linear and its like, are not here.)
#include <shim/padding.h>

namespace torch {
SHIM_CHOICE(kNone)
SHIM_CHOICE(kMean)
SHIM_CHOICE(kSum)
SHIM_CHOICE(kNearest)
SHIM_CHOICE(kLinear)
SHIM_CHOICE(kBilinear)
SHIM_CHOICE(kBicubic)
SHIM_CHOICE(kTrilinear)
SHIM_CHOICE(kArea)
SHIM_CHOICE(kNearestExact)
SHIM_CHOICE(kZeros)
SHIM_CHOICE(kBorder)
SHIM_CHOICE(kReflection)

namespace nn {
namespace functional {

using reduction_t = std::variant<enumtype::kNone, enumtype::kMean, enumtype::kSum>;  // in at::Reduction's order

struct SoftmaxFuncOptions {
  SoftmaxFuncOptions(int64_t dim) : dim_(dim) {}
  SHIM_OPTION(std::optional<at::ScalarType>, dtype);
  SHIM_OPTION(int64_t, dim);
};
using LogSoftmaxFuncOptions = SoftmaxFuncOptions;
inline at::Tensor softmax(const at::Tensor& x, const SoftmaxFuncOptions& o) {
  return at::softmax(x, o.dim(), o.dtype());
}
inline at::Tensor log_softmax(const at::Tensor& x, const SoftmaxFuncOptions& o) {
  return at::log_softmax(x, o.dim(), o.dtype());
}

struct ActivationOptions {
  ActivationOptions(bool inplace = false) : inplace_(inplace) {}
  SHIM_OPTION(bool, inplace);
};
using ReLUFuncOptions = ActivationOptions;
inline at::Tensor relu(at::Tensor x, const ReLUFuncOptions& o = {}) { return o.inplace() ? at::relu_(x) : at::relu(x); }
inline at::Tensor silu(const at::Tensor& x) { return at::silu(x); }
inline at::Tensor logsigmoid(const at::Tensor& x) { return at::log_sigmoid(x); }
struct GELUFuncOptions {
  SHIM_OPTION(std::string, approximate, "none");
};
inline at::Tensor gelu(const at::Tensor& x, const GELUFuncOptions& o = {}) { return at::gelu(x, o.approximate()); }
struct LeakyReLUFuncOptions {
  SHIM_OPTION(double, negative_slope, 1e-2);
  SHIM_OPTION(bool, inplace);
};
inline at::Tensor leaky_relu(at::Tensor x, const LeakyReLUFuncOptions& o = {}) {
  return o.inplace() ? at::leaky_relu_(x, o.negative_slope()) : at::leaky_relu(x, o.negative_slope());
}
struct ELUFuncOptions {
  SHIM_OPTION(double, alpha, 1.0);
  SHIM_OPTION(bool, inplace);
};
inline at::Tensor elu(at::Tensor x, const ELUFuncOptions& o = {}) {
  return o.inplace() ? at::elu_(x, o.alpha()) : at::elu(x, o.alpha());
}
struct SoftplusFuncOptions {
  SHIM_OPTION(double, beta, 1.0);
  SHIM_OPTION(double, threshold, 20.0);
};
inline at::Tensor softplus(const at::Tensor& x, const SoftplusFuncOptions& o = {}) {
  return at::softplus(x, o.beta(), o.threshold());
}
struct DropoutFuncOptions {
  SHIM_OPTION(double, p, 0.5);
  SHIM_OPTION(bool, training, true);
  SHIM_OPTION(bool, inplace);
};
inline at::Tensor dropout(at::Tensor x, const DropoutFuncOptions& o = {}) {
  TORCH_CHECK(o.p() >= 0 && o.p() <= 1, "dropout probability has to be between 0 and 1, but got ", o.p());
  return o.inplace() ? at::dropout_(x, o.p(), o.training()) : at::dropout(x, o.p(), o.training());
}

inline at::Tensor linear(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias = {}) {
  return at::linear(x, weight, bias.defined() ? std::optional<at::Tensor>(bias) : std::nullopt);
}
inline at::Tensor one_hot(const at::Tensor& x, int64_t num_classes = -1) { return at::one_hot(x, num_classes); }
struct EmbeddingFuncOptions {
  SHIM_OPTION(std::optional<int64_t>, padding_idx);
};
inline at::Tensor embedding(const at::Tensor& x, const at::Tensor& weight, const EmbeddingFuncOptions& o = {}) {
  return at::embedding(weight, x, o.padding_idx().value_or(-1));
}
struct LayerNormFuncOptions {
  LayerNormFuncOptions(std::vector<int64_t> shape) : normalized_shape_(std::move(shape)) {}
  SHIM_OPTION(std::vector<int64_t>, normalized_shape);
  SHIM_OPTION(at::Tensor, weight);
  SHIM_OPTION(at::Tensor, bias);
  SHIM_OPTION(double, eps, 1e-5);
};
inline at::Tensor layer_norm(const at::Tensor& x, const LayerNormFuncOptions& o) {
  auto maybe = [](const at::Tensor& t) { return t.defined() ? std::optional<at::Tensor>(t) : std::nullopt; };
  return at::layer_norm(x, o.normalized_shape(), maybe(o.weight()), maybe(o.bias()), o.eps());
}
struct NormalizeFuncOptions {
  SHIM_OPTION(double, p, 2.0);
  SHIM_OPTION(int64_t, dim, 1);
  SHIM_OPTION(double, eps, 1e-12);
};
inline at::Tensor normalize(const at::Tensor& x, const NormalizeFuncOptions& o = {}) {
  return x / x.norm(o.p(), at::IntArrayRef(o.dim()), true).clamp_min(o.eps()).expand_as(x);
}
struct CosineSimilarityFuncOptions {
  SHIM_OPTION(int64_t, dim, 1);
  SHIM_OPTION(double, eps, 1e-8);
};
inline at::Tensor cosine_similarity(
    const at::Tensor& x, const at::Tensor& y, const CosineSimilarityFuncOptions& o = {}) {
  return at::cosine_similarity(x, y, o.dim(), o.eps());
}
struct MSELossFuncOptions {
  MSELossFuncOptions() = default;
  MSELossFuncOptions(reduction_t r) : reduction_(r) {}
  SHIM_OPTION(reduction_t, reduction, enumtype::kMean{});
};
using L1LossFuncOptions = MSELossFuncOptions;
inline at::Tensor mse_loss(const at::Tensor& x, const at::Tensor& y, const MSELossFuncOptions& o = {}) {
  return at::mse_loss(x, y, int64_t(o.reduction().index()));
}
inline at::Tensor l1_loss(const at::Tensor& x, const at::Tensor& y, const L1LossFuncOptions& o = {}) {
  return at::l1_loss(x, y, int64_t(o.reduction().index()));
}
struct CrossEntropyFuncOptions {
  SHIM_OPTION(at::Tensor, weight);
  SHIM_OPTION(int64_t, ignore_index, -100);
  SHIM_OPTION(reduction_t, reduction, enumtype::kMean{});
  SHIM_OPTION(double, label_smoothing);
};
inline at::Tensor cross_entropy(const at::Tensor& x, const at::Tensor& target, const CrossEntropyFuncOptions& o = {}) {
  const auto weight = o.weight().defined() ? std::optional<at::Tensor>(o.weight()) : std::nullopt;
  return at::cross_entropy_loss(
      x, target, weight, int64_t(o.reduction().index()), o.ignore_index(), o.label_smoothing());
}
struct GridSampleFuncOptions {
  using mode_t = std::variant<enumtype::kBilinear, enumtype::kNearest, enumtype::kBicubic>;
  using padding_mode_t = std::variant<enumtype::kZeros, enumtype::kBorder, enumtype::kReflection>;
  SHIM_OPTION(mode_t, mode);
  SHIM_OPTION(padding_mode_t, padding_mode);
  SHIM_OPTION(std::optional<bool>, align_corners);
};
inline at::Tensor grid_sample(const at::Tensor& x, const at::Tensor& grid, const GridSampleFuncOptions& o = {}) {
  return at::grid_sampler(
      x, grid, int64_t(o.mode().index()), int64_t(o.padding_mode().index()), o.align_corners().value_or(false));
}

}  // namespace functional
}  // namespace nn
}  // namespace torch
