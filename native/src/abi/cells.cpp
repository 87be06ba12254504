// Between values and the cells of the stable C ABI, by schema type.
#include <cstring>
#include <memory>

#include "abi/abi.h"

namespace shim::abi {
namespace {

Cell bits(double x) {
  Cell v;
  std::memcpy(&v, &x, sizeof v);
  return v;
}
double to_double(Cell v) {
  double x;
  std::memcpy(&x, &v, sizeof x);
  return x;
}

[[noreturn]] void unsupported(const ArgType& t) {
  fail(Kind::NotImplemented, "values of type ", type_text(t), " cannot cross the stable C ABI");
}
[[noreturn]] void mismatch(const Value& v, const ArgType& t) {
  fail(Kind::Type, "expected a value of type ", type_text(t), ", but got ", v.type_name());
}

// Of a type whose values have a tag to themselves.
const Value& tagged(Value::Tag tag, const Value& v, const ArgType& t) {
  if (v.tag != tag) mismatch(v, t);
  return v;
}

Scalar number(const Value& v, const ArgType& t) {
  if (!v.is_number() || v.tag == Value::complex) mismatch(v, t);
  const Scalar s = v.number();
  CHECK(Kind::Overflow, !s.big, "Python int too large to convert to C long");
  return s;
}

Cell element_cell(const Value& v, const ArgType& t) {
  switch (t.base) {
    case ArgType::Tensor: return reinterpret_cast<Cell>(handle_of(Tensor(tagged(Value::tensor, v, t).t)));
    case ArgType::Int:
      if (v.tag != Value::boolean) tagged(Value::integer, v, t);
      return Cell(number(v, t).i);
    case ArgType::Float: return bits(number(v, t).to_double());
    case ArgType::Bool: return Cell(number(v, t).to_double() != 0);
    case ArgType::Str: return reinterpret_cast<Cell>(new std::string(tagged(Value::text, v, t).chars, v.size));
    case ArgType::ScalarType: return Cell(uint32_t(tagged(Value::dtype, v, t).i));
    case ArgType::Device: return from_device(tagged(Value::device, v, t).where);
    case ArgType::Layout: return Cell(uint32_t(tagged(Value::layout, v, t).i));
    case ArgType::MemoryFormat: return Cell(uint32_t(tagged(Value::memory_format, v, t).i));
    case ArgType::Generator: {
      void* generator = tagged(Value::object, v, t).held;
      auto* held = new HeldGenerator(generator, host().generator_device(generator));
      held->retain();
      return reinterpret_cast<Cell>(held);
    }
    default: unsupported(t);
  }
}

Cell boxed(Cell v) { return reinterpret_cast<Cell>(new Cell(v)); }

Cell list_cell(const Value& v, const ArgType& t) {
  auto list = std::make_unique<List>();
  tagged(Value::list, v, t);
  list->reserve(v.size);
  try {
    for (const Value& element : std::span(v.items, v.size))
      list->push_back(!t.element_optional          ? element_cell(element, t)
                      : element.tag == Value::none ? 0
                                                   : boxed(element_cell(element, t)));
  } catch (...) {
    ArgType plain = t;
    plain.optional = false;
    release(plain, reinterpret_cast<Cell>(list.release()));
    throw;
  }
  return reinterpret_cast<Cell>(list.release());
}

Value object_in(const HeldGenerator* g) {
  Value v;
  if (!g) return v;
  v.tag = Value::object;
  v.held = g->object.object;
  return v;
}

Value element_in(Cell c, const ArgType& t) {
  switch (t.base) {
    case ArgType::Tensor: {
      const auto h = reinterpret_cast<Handle>(c);
      return Value(is_defined(h) ? h : nullptr);
    }
    case ArgType::Int: return {Value::integer, int64_t(c)};
    case ArgType::Float:
    case ArgType::Scalar: return Value(to_double(c));
    case ArgType::Bool: return {Value::boolean, uint8_t(c)};
    case ArgType::Str:
      CHECK(Kind::Runtime, c, "a null string handle was given");
      return Value(std::string_view(*reinterpret_cast<const std::string*>(c)));
    case ArgType::ScalarType: return {Value::dtype, int64_t(make_dtype(int32_t(uint32_t(c))))};
    case ArgType::Device: return Value(to_device(c));
    case ArgType::Layout:
      CHECK(Kind::Runtime, uint32_t(c) < 8, "layout ", uint32_t(c), " does not exist");
      return {Value::layout, int64_t(uint32_t(c))};
    case ArgType::MemoryFormat:
      CHECK(Kind::Runtime, uint32_t(c) < 4, "memory format ", uint32_t(c), " does not exist");
      return {Value::memory_format, int64_t(uint32_t(c))};
    case ArgType::Generator: return object_in(reinterpret_cast<const HeldGenerator*>(c));
    default: unsupported(t);
  }
}

Value optional_in(Cell c, const ArgType& t) { return c ? element_in(*reinterpret_cast<const Cell*>(c), t) : Value(); }

Value list_in(Cell c, const ArgType& t, ValueRoom& room) {
  const auto* list = reinterpret_cast<const List*>(c);
  CHECK(Kind::Runtime, list, "a null list handle was given");
  Value* items = room.take(list->size());
  for (size_t i = 0; i < list->size(); ++i)
    items[i] = t.element_optional ? optional_in((*list)[i], t) : element_in((*list)[i], t);
  return {t.base == ArgType::Tensor ? Value::tensors : Value::list, uint32_t(list->size()), items};
}

}  // namespace

Cell cell_of(const Value& v, const ArgType& t) {
  if (t.optional && v.tag == Value::none) return 0;
  const Cell c = t.list ? list_cell(v, t) : element_cell(v, t);
  return t.optional ? boxed(c) : c;
}

Value value_in(Cell c, const ArgType& t, ValueRoom& room) {
  if (!t.list) return t.optional ? optional_in(c, t) : element_in(c, t);
  if (!t.optional) return list_in(c, t, room);
  return c ? list_in(*reinterpret_cast<const Cell*>(c), t, room) : Value();
}

}  // namespace shim::abi
