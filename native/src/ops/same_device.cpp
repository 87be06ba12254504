#include "ops/same_device.h"

#include "core/error.h"

namespace shim {

void SameDevice::meet(const TensorImpl& t) {
  auto stands_in = [&](const TensorImpl& x) { return op_.pointwise && is_cpu_scalar(x); };
  if (stands_in(t)) return;
  if (stands_in(*first_)) {
    first_ = &t;
    return;
  }
  CHECK(Kind::Runtime, op_.schema.name == "copy_",  // which moves between devices
      "Expected all tensors to be on the same device, but found at least two devices, ", to_string(first_->device()),
      " and ", to_string(t.device()), "!");
}

void SameDeviceOfParts::see(const TensorImpl& t) {
  if (!checked_) return;
  if (!first_) first_ = &t;
  CHECK(Kind::Runtime, t.device() == first_->device(),
      "Expected all tensors to be on the same device, but found at least two devices, ", to_string(first_->device()),
      " and ", to_string(t.device()), "! (when checking argument tensors of ", op_.schema.name, ")");
}

}  // namespace shim
