#pragma once
#include <cstdint>

namespace shim {

struct DrawBounds {  // of a distribution of whole numbers, modulo 2**64; of others
  uint64_t low = 0, high = 0;
  double a = 0, b = 0;
};

}  // namespace shim
