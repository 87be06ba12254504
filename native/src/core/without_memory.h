#pragma once
// Tensors of classes that keep their elements elsewhere: sizes, dtype and device, but no memory.
#include <optional>
#include <string_view>

#include "core/tensor.h"

namespace shim {

enum : uint8_t { kAskStrides = 1, kAskSizes = 2, kAskDevice = 4, kAskLayout = 8 };  // TensorImpl::asks_handler
// What such a tensor leaves to its class, by PyTorch's arguments.
uint8_t asks_of(std::optional<std::string_view> sizes_strides_policy, bool device, bool layout);

struct WithoutMemory {
  std::optional<IntArrayRef> strides;
  std::optional<MemoryFormat> format;  // where there are no strides
  int64_t offset = 0;
  std::optional<int64_t> bytes;  // what its storage says to have
};
Tensor without_memory(IntArrayRef sizes, DType, Device, const WithoutMemory&);

}  // namespace shim
