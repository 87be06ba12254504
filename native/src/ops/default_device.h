#pragma once
// Where factories make tensors that are not told to: torch.set_default_device, `with torch.device(...)`.
#include <optional>
#include <vector>

#include "core/device.h"

namespace shim {

inline thread_local std::vector<Device> default_devices;  // of `with torch.device(...)`, the innermost last
inline std::optional<Device> process_device;              // of torch.set_default_device

inline std::optional<Device> default_device() {
  return default_devices.empty() ? process_device : std::optional(default_devices.back());
}

}  // namespace shim
