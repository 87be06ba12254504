#pragma once
// DLPack's types beside ours. The structures are those of the DLPack header that the source brings.
#if !__has_include(<dlpack/dlpack.h>)
#error "ATen/DLConvertor.h needs DLPack's own header, dlpack/dlpack.h, among the include folders"
#endif
#include <dlpack/dlpack.h>

#include <shim/torch.h>

namespace at {
inline ScalarType toScalarType(const DLDataType& t) {
  TORCH_CHECK(t.lanes == 1, "ATen does not support lanes != 1");
  const auto of = [&](std::initializer_list<std::pair<int, ScalarType>> known) {
    for (const auto& [bits, type] : known)
      if (bits == t.bits) return type;
    TORCH_CHECK(false, "Unsupported DLPack type: code ", int(t.code), ", ", int(t.bits), " bits");
  };
  switch (t.code) {
    case kDLUInt: return of({{8, kByte}, {16, kUInt16}, {32, kUInt32}, {64, kUInt64}});
    case kDLInt: return of({{8, kChar}, {16, kShort}, {32, kInt}, {64, kLong}});
    case kDLFloat: return of({{16, kHalf}, {32, kFloat}, {64, kDouble}});
    case kDLBfloat: return of({{16, kBFloat16}});
    case kDLComplex: return of({{32, kComplexHalf}, {64, kComplexFloat}, {128, kComplexDouble}});
    case kDLBool: return of({{8, kBool}});
    default: return of({});
  }
}

namespace detail {
struct XPUHooks {  // named by sources that know Intel's devices too
  int getGlobalIdxFromDevice(const Device&) const { TORCH_CHECK(false, "there are no XPU devices here"); }
  Device getDeviceFromPtr(void*) const { TORCH_CHECK(false, "there are no XPU devices here"); }
};
inline const XPUHooks& getXPUHooks() {
  static const XPUHooks hooks;
  return hooks;
}
}  // namespace detail
}  // namespace at
