#pragma once
// The limits of element types within kernels: of types with infinities, the bounds are those.
#include <shim/half.h>

namespace at {
template <class T> struct numeric_limits {
  static constexpr C10_HOST_DEVICE T lowest() { return std::numeric_limits<T>::lowest(); }
  static constexpr C10_HOST_DEVICE T max() { return std::numeric_limits<T>::max(); }
  static constexpr C10_HOST_DEVICE T lower_bound() {
    if constexpr (std::numeric_limits<T>::has_infinity)
      return -std::numeric_limits<T>::infinity();
    else
      return lowest();
  }
  static constexpr C10_HOST_DEVICE T upper_bound() {
    if constexpr (std::numeric_limits<T>::has_infinity)
      return std::numeric_limits<T>::infinity();
    else
      return max();
  }
};
}  // namespace at
