// Steps of optimizers over lists of tensors (records/shim/optimizer_steps.py), on the device of their parameters.
#include "cpu/optimizer_steps.h"
#include "cuda/graph_numbers.h"
#include "cuda/optimizer_steps.h"
#include "kernels/call.h"
#include "kernels/registry.h"

namespace shim {
namespace {

using namespace optimizers;

bool on_cuda(TensorList parameters) { return !parameters.empty() && parameters[0]->device().is_cuda(); }

// Gradients that lie as their parameters do: those that do not are copied.
class LikeParameters {
 public:
  LikeParameters(TensorList parameters, TensorList gradients) : all_(gradients) {
    if (parameters.size() != gradients.size()) return;
    if (cuda::graph_numbers && cuda::graph_numbers->renews()) {  // nothing looks at them
      all_ = parameters;
      return;
    }
    for (size_t i = 0; i < parameters.size(); ++i) {
      const TensorImpl &p = *parameters[i], &g = *gradients[i];
      if (std::ranges::equal(p.strides(), g.strides()) || !std::ranges::equal(p.sizes(), g.sizes())) continue;
      if (made_.empty()) made_.assign(gradients.begin(), gradients.end());
      made_[i] = empty_strided(p.sizes(), p.strides(), g.dtype(), g.device());
      copy_(made_[i], gradients[i]);
    }
    if (!made_.empty()) all_ = made_;
  }
  operator TensorList() const { return all_; }

 private:
  TensorList all_;
  std::vector<Tensor> made_;
};

Stepped adam(TensorList parameters, TensorList gradients, TensorList means, TensorList squares, TensorList greatest,
    TensorList counts, double lr, double beta1, double beta2, double weight_decay, double eps, bool maximize,
    bool decoupled) {
  const auto step = on_cuda(parameters) ? cuda::adam_step : adam_step;
  return step(parameters, LikeParameters(parameters, gradients), means, squares, greatest, counts,
      {lr, beta1, beta2, weight_decay, eps, maximize, decoupled});
}

Stepped sgd(TensorList parameters, TensorList gradients, TensorList buffers, double lr, double momentum,
    double dampening, double weight_decay, bool nesterov, bool maximize) {
  const auto step = on_cuda(parameters) ? cuda::sgd_step : sgd_step;
  return step(parameters, LikeParameters(parameters, gradients), buffers,
      {lr, momentum, dampening, weight_decay, nesterov, maximize});
}

Stepped adagrad(TensorList parameters, TensorList gradients, TensorList sums, TensorList counts, double lr,
    double lr_decay, double weight_decay, double eps, bool maximize) {
  const auto step = on_cuda(parameters) ? cuda::adagrad_step : adagrad_step;
  return step(
      parameters, LikeParameters(parameters, gradients), sums, counts, {lr, lr_decay, weight_decay, eps, maximize});
}

Stepped rmsprop(TensorList parameters, TensorList gradients, TensorList squares, TensorList buffers, TensorList means,
    TensorList counts, double lr, double alpha, double weight_decay, double eps, double momentum, bool maximize) {
  const auto step = on_cuda(parameters) ? cuda::rmsprop_step : rmsprop_step;
  return step(parameters, LikeParameters(parameters, gradients), squares, buffers, means, counts,
      {lr, alpha, weight_decay, eps, momentum, maximize});
}

Stepped adadelta(TensorList parameters, TensorList gradients, TensorList squares, TensorList moves, TensorList counts,
    double lr, double rho, double weight_decay, double eps, bool maximize) {
  const auto step = on_cuda(parameters) ? cuda::adadelta_step : adadelta_step;
  return step(parameters, LikeParameters(parameters, gradients), squares, moves, counts,
      {lr, rho, weight_decay, eps, maximize});
}

Stepped adamax(TensorList parameters, TensorList gradients, TensorList means, TensorList largest, TensorList counts,
    double lr, double beta1, double beta2, double weight_decay, double eps, bool maximize) {
  const auto step = on_cuda(parameters) ? cuda::adamax_step : adamax_step;
  return step(parameters, LikeParameters(parameters, gradients), means, largest, counts,
      {lr, beta1, beta2, weight_decay, eps, maximize});
}

Stepped nadam(TensorList parameters, TensorList gradients, TensorList means, TensorList squares, TensorList products,
    TensorList counts, double lr, double beta1, double beta2, double weight_decay, double eps, double momentum_decay,
    bool maximize, bool decoupled) {
  const auto step = on_cuda(parameters) ? cuda::nadam_step : nadam_step;
  return step(parameters, LikeParameters(parameters, gradients), means, squares, products, counts, momentum_decay,
      {lr, beta1, beta2, weight_decay, eps, maximize, decoupled});
}

Stepped radam(TensorList parameters, TensorList gradients, TensorList means, TensorList squares, TensorList counts,
    double lr, double beta1, double beta2, double weight_decay, double eps, bool maximize, bool decoupled) {
  const auto step = on_cuda(parameters) ? cuda::radam_step : radam_step;
  return step(parameters, LikeParameters(parameters, gradients), means, squares, counts,
      {lr, beta1, beta2, weight_decay, eps, maximize, decoupled});
}

}  // namespace

void register_optimizer_kernels() {
  register_kernel<&adadelta, kAnyWithoutHistory>("adadelta_step");
  register_kernel<&adamax, kAnyWithoutHistory>("adamax_step");
  register_kernel<&nadam, kAnyWithoutHistory>("nadam_step");
  register_kernel<&radam, kAnyWithoutHistory>("radam_step");
  register_kernel<&adam, kAnyWithoutHistory>("adam_step");
  register_kernel<&sgd, kAnyWithoutHistory>("sgd_step");
  register_kernel<&adagrad, kAnyWithoutHistory>("adagrad_step");
  register_kernel<&rmsprop, kAnyWithoutHistory>("rmsprop_step");
}

}  // namespace shim
