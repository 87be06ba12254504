#include "ops/value.h"

namespace shim {

Scalar Value::number() const {
  switch (tag) {
    case boolean: return {Scalar::Bool, i};
    case real: return {Scalar::Float, 0, f};
    case complex: return {Scalar::Complex, 0, f, imag};
    default:
      CHECK(Kind::Overflow, width != wider, "int too big to convert");
      return {.type = Scalar::Int, .i = i, .big = width == unsigned_word};
  }
}

}  // namespace shim
