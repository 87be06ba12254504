#include "ops/value.h"

namespace shim {

Scalar Value::other_number() const {
  switch (tag) {
    case boolean: return {Scalar::Bool, i};
    case complex: return {Scalar::Complex, 0, f, imag};
    default:
      CHECK(Kind::Overflow, width != wider, "int too big to convert");
      return {.type = Scalar::Int, .i = i, .big = width == unsigned_word};
  }
}

}  // namespace shim
