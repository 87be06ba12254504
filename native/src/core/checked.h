#pragma once
// Arithmetic with sizes that a caller gave. What passes 2**63 is refused: memory of a size that wrapped around would be
// too small.
#include <initializer_list>

#include "core/error.h"

namespace shim {

inline int64_t checked_product(std::initializer_list<int64_t> factors) {
  int64_t p = 1;
  for (int64_t n : factors)
    CHECK(Kind::Runtime, !__builtin_mul_overflow(p, n, &p), "numel: integer multiplication overflow");
  return p;
}

inline int64_t checked_sum(std::initializer_list<int64_t> parts) {
  int64_t s = 0;
  for (int64_t n : parts)
    CHECK(Kind::Runtime, !__builtin_add_overflow(s, n, &s), "Storage size calculation overflowed");
  return s;
}

}  // namespace shim
