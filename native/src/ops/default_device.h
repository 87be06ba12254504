#pragma once
// Where factories make tensors that are not told to: torch.set_default_device, `with torch.device(...)`.
#include <optional>
#include <vector>

#include "core/device.h"

namespace shim {

inline thread_local std::vector<Device> default_devices;  // of `with torch.device(...)`, the innermost last
inline std::optional<Device> process_device;              // of torch.set_default_device

inline bool default_device_seen = false;  // one of them was set, once: until then nobody looks

inline std::optional<Device> default_device() {
  if (__builtin_expect(!default_device_seen, 1)) return {};
  return default_devices.empty() ? process_device : std::optional(default_devices.back());
}

}  // namespace shim
