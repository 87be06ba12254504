// A tensor's autograd state, which lives and dies with it.
#include "autograd/autograd.h"

namespace shim {

TensorImpl::~TensorImpl() { delete autograd_; }

AutogradMeta& TensorImpl::ensure_autograd() {
  if (!autograd_) autograd_ = new AutogradMeta();
  return *autograd_;
}

bool TensorImpl::requires_grad() const noexcept {
  if (!autograd_) return false;
  if (autograd_->base) refresh_view(const_cast<TensorImpl&>(*this));
  return autograd_->requires_grad || autograd_->grad_fn;
}

}  // namespace shim
