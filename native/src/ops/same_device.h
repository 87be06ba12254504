#pragma once
#include "core/tensor.h"
#include "ops/operator.h"

namespace shim {

// The tensors of a call are shown to it one after the other, in the order of the arguments; RuntimeError at the first that is on
// another device.
class SameDevice {
 public:
  explicit SameDevice(const Operator& op) : op_(op) {}
  void see(const TensorImpl& t) {
    if (!first_)
      first_ = &t;
    else if (t.device() != first_->device())
      meet(t);
  }

 private:
  void meet(const TensorImpl&);
  const Operator& op_;
  const TensorImpl* first_ = nullptr;
};

// The same of the tensors of a list that become one (cat, stack); other lists, of indices and of foreach operators, may mix devices.
class SameDeviceOfParts {
 public:
  explicit SameDeviceOfParts(const Operator& op)
      : op_(op), checked_(op.schema.name == "cat" || op.schema.name == "stack") {}
  void see(const TensorImpl&);

 private:
  const Operator& op_;
  const bool checked_;
  const TensorImpl* first_ = nullptr;
};

}  // namespace shim
