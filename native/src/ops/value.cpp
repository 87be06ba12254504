#include "ops/value.h"

#include "core/held_object.h"

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

Value::Value(const Scalar& s) : Value() {
  tag = s.type == Scalar::Bool ? boolean : s.type == Scalar::Int ? integer : s.type == Scalar::Float ? real : complex;
  width = s.big ? unsigned_word : word;
  if (tag == real || tag == complex)
    f = s.f;
  else
    i = s.i;
  imag = s.imag;
}

const char* Value::type_name() const {
  static constexpr const char* names[] = {"NoneType", "Tensor", "bool", "int", "float", "complex", "str", "torch.dtype",
      "torch.device", "torch.layout", "torch.memory_format", "list", "object", "list", "dict", "Stream"};
  return tag == object ? interpreter_objects.type_name(held) : names[tag];
}

Value* ValueRoom::take_more(size_t n) {
  if (!more_) more_ = std::make_unique<std::vector<std::unique_ptr<Value[]>>>();
  return more_->emplace_back(std::make_unique<Value[]>(n)).get();
}

}  // namespace shim
