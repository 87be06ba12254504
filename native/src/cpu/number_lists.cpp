#include <algorithm>

#include "ops/elements.h"

namespace shim {

Tensor tensor_of_numbers(IntArrayRef sizes, std::span<const Scalar> numbers, DType wanted) {
  const auto any = [&](Scalar::Type type) { return std::ranges::find(numbers, type, &Scalar::type) != numbers.end(); };
  const bool floats = any(Scalar::Float);
  const DType natural = floats ? default_dtype() : any(Scalar::Int) ? DType::i64 : DType::b8;
  const DType t = wanted == DType::undefined ? natural : wanted;
  const bool wide =
      t == DType::f32 || t == DType::f64 || t == DType::bf16 || t == DType::b8 || (t == DType::i64 && !floats);
  if (!wide && t != natural) return {};
  Tensor out = empty(sizes, t, Device{});
  char* to = static_cast<char*>(out->data());
  for (const Scalar& number : numbers) {
    store_number(to, t, number);
    to += out->itemsize();
  }
  return out;
}

}  // namespace shim
