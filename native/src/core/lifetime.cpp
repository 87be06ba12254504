// A tensor's autograd state, which lives and dies with it.
#include "autograd/autograd.h"

namespace shim {

TensorImpl::~TensorImpl() { delete autograd_; }

AutogradMeta& TensorImpl::ensure_autograd() {
  if (!autograd_) autograd_ = new AutogradMeta();
  return *autograd_;
}

bool TensorImpl::requires_grad() const noexcept { return autograd_ && (autograd_->requires_grad || autograd_->grad_fn); }

}  // namespace shim
