#include "core/without_memory.h"

namespace shim {

uint8_t asks_of(std::optional<std::string_view> policy, bool device, bool layout) {
  CHECK(Kind::Value, !policy || policy == "sizes" || policy == "strides", "Unknown sizes_strides_policy: ", *policy,
      "; expected 'strides' or 'sizes'");
  const int geometry = !policy ? 0 : policy == "sizes" ? kAskSizes | kAskStrides : kAskStrides;
  return uint8_t(geometry | (device ? kAskDevice : 0) | (layout ? kAskLayout : 0));
}

Tensor without_memory(IntArrayRef sizes, DType t, Device device, const WithoutMemory& w) {
  const Dims strides = w.strides                                 ? Dims(w.strides->begin(), w.strides->end())
                       : w.format == MemoryFormat::channels_last ? channels_last_strides(sizes)
                                                                 : contiguous_strides(sizes);
  CHECK(Kind::Runtime, sizes.size() == strides.size(), "mismatch in length of strides and shape");
  const size_t bytes =
      w.bytes ? size_t(*w.bytes) : storage_bytes(sizes, strides, itemsize(t)) + size_t(w.offset) * itemsize(t);
  const Ref<Storage> none(new Storage(nullptr, bytes, device, nullptr, nullptr));
  none->set_resizable(false);
  return Tensor(new TensorImpl(none, t, sizes, strides, w.offset));
}

}  // namespace shim
