#pragma once
// The device that a call of an operator runs on: its tensors', or where it is told to make one, whatever device is current.
#include <optional>

#include "cuda/driver.h"
#include "ops/operator.h"
#include "ops/value.h"

namespace shim {

// That device is current within. With one GPU, or none, nothing is asked.
class OperatorDevice {
 public:
  OperatorDevice(const Operator& op, const Value* args, size_t n) {
    if (__builtin_expect(cuda::several_devices, 0) && op.recorded) enter(args, n);
  }

 private:
  void enter(const Value* args, size_t n);
  std::optional<cuda::OnDevice> current_;
};

}  // namespace shim
