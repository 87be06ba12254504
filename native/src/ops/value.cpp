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

Value default_of(const Argument& a, ValueRoom& room) {
  const auto list = [&](const auto& given, auto&& make) {
    Value* items = room.take(given.size());
    for (size_t i = 0; i < given.size(); ++i) items[i] = make(given[i]);
    return Value(Value::list, uint32_t(given.size()), items);
  };
  return std::visit(
      [&](const auto& v) -> Value {
        using V = std::remove_cvref_t<decltype(v)>;
        const ArgType::Base base = a.type.base;
        if constexpr (std::is_same_v<V, std::monostate>) return {};
        if constexpr (std::is_same_v<V, bool>) return {Value::boolean, v};
        if constexpr (std::is_same_v<V, DType>) return {Value::dtype, int64_t(v)};
        if constexpr (std::is_same_v<V, double>) return Value(v);
        if constexpr (std::is_same_v<V, int64_t>) {
          if (base == ArgType::Float) return Value(double(v));
          return {base == ArgType::MemoryFormat ? Value::memory_format
                  : base == ArgType::Layout     ? Value::layout
                                                : Value::integer,
              v};
        }
        if constexpr (std::is_same_v<V, std::string>)
          return base == ArgType::Device ? Value(parse_device(v)) : Value(std::string_view(v));
        if constexpr (std::is_same_v<V, std::vector<int64_t>>) {
          if (base == ArgType::Tensor) return {Value::tensors, uint32_t(0), nullptr};
          return list(v, [](int64_t i) { return Value(Value::integer, i); });
        }
        if constexpr (std::is_same_v<V, std::vector<double>>) return list(v, [](double d) { return Value(d); });
        if constexpr (std::is_same_v<V, std::vector<bool>>)
          return list(v, [](bool b) { return Value(Value::boolean, b); });
      },
      a.fallback->value);
}

Value* ValueRoom::take_more(size_t n) {
  if (!more_) more_ = std::make_unique<std::vector<std::unique_ptr<Value[]>>>();
  return more_->emplace_back(std::make_unique<Value[]>(n)).get();
}

}  // namespace shim
