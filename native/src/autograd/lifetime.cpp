// A tensor's autograd state, which lives and dies with it.
#include "autograd/autograd.h"

namespace shim {

bool creating_inference_tensors() noexcept { return InferenceMode::enabled(); }

TensorImpl::~TensorImpl() { delete autograd_; }

AutogradMeta& TensorImpl::ensure_autograd() {
  if (!autograd_) autograd_ = new AutogradMeta();
  return *autograd_;
}

bool TensorImpl::requires_grad() const noexcept {
  if (!autograd_) return false;
  return autograd_->requires_grad || autograd_->grad_fn || (autograd_->base && autograd_->base->requires_grad());
}

}  // namespace shim
