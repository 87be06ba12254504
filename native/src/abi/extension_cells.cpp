#include "abi/extension_cells.h"

#include <cstdlib>
#include <cstring>
#include <new>

namespace shim {

namespace {

template <class T> T* array(size_t n) {
  void* p = std::malloc(n ? n * sizeof(T) : 1);
  if (!p) throw std::bad_alloc();
  return static_cast<T*>(p);
}

ShimCell number_cell(uint32_t tag, int64_t i, uint32_t n = 0) { return {.tag = tag, .n = n, .i = i, .im = 0}; }
ShimCell pointer_cell(uint32_t tag, const void* p, uint32_t n = 0) { return {.tag = tag, .n = n, .p = p, .im = 0}; }

int64_t word(const Value& v, const char* wanted) {
  CHECK(
      Kind::Type, v.tag == Value::integer || v.tag == Value::boolean, "expected ", wanted, ", but got ", v.type_name());
  CHECK(Kind::Overflow, v.width == Value::word, "int too big to convert");
  return v.i;
}
double real(const Value& v) {
  CHECK(Kind::Type, v.is_number() && v.tag != Value::complex, "must be real number, not ", v.type_name());
  return v.number().to_double();
}

ShimCell text_cell(const Value& v) {
  char* copy = array<char>(size_t(v.size) + 1);
  std::memcpy(copy, v.chars, v.size);
  copy[v.size] = 0;
  return pointer_cell(SHIM_STRING, copy, v.size);
}

uint32_t list_tag(const Value& list, const ArgType* type) {
  auto of = [](ArgType::Base base) {
    return base == ArgType::Int      ? SHIM_INTS
           : base == ArgType::Float  ? SHIM_DOUBLES
           : base == ArgType::Bool   ? SHIM_BOOLS
           : base == ArgType::Tensor ? SHIM_TENSORS
                                     : SHIM_LIST;
  };
  if (type && type->base != ArgType::Any) return of(type->base);
  uint32_t found = SHIM_NONE;
  for (const Value& v : std::span(list.items, list.size)) {
    const uint32_t tag = v.tag == Value::tensor    ? SHIM_TENSORS
                         : v.tag == Value::boolean ? SHIM_BOOLS
                         : v.tag == Value::integer ? SHIM_INTS
                         : v.tag == Value::real    ? SHIM_DOUBLES
                                                   : SHIM_LIST;
    if (found != SHIM_NONE && found != tag) return SHIM_LIST;
    found = tag;
  }
  return found == SHIM_NONE ? SHIM_LIST : found;
}

ShimTensor* tensor_or_null(const Value& v) {
  CHECK(Kind::Type, v.tag == Value::none || v.tag == Value::tensor, "expected a Tensor, but got ", v.type_name());
  return v.tag == Value::none ? nullptr : counted(Tensor(v.t));
}

void put_element(const ShimCell& c, size_t i, const Value& v, const ArgType* type) {
  void* p = const_cast<void*>(c.p);
  switch (c.tag) {
    case SHIM_INTS: static_cast<int64_t*>(p)[i] = word(v, "an integer"); break;
    case SHIM_DOUBLES: static_cast<double*>(p)[i] = real(v); break;
    case SHIM_BOOLS: static_cast<uint8_t*>(p)[i] = uint8_t(real(v) != 0); break;
    case SHIM_TENSORS: static_cast<ShimTensor**>(p)[i] = tensor_or_null(v); break;
    default: static_cast<ShimCell*>(p)[i] = cell_of(v, type);
  }
}

// A cell of `n` elements that put(cell, i) makes one after the other; those made are released where one fails.
template <class F> ShimCell filled(uint32_t tag, uint32_t n, size_t cells, F&& put) {
  ShimCell c = pointer_cell(tag, array<ShimCell>(cells));
  try {
    for (; c.n < n; ++c.n) put(c, c.n);
  } catch (...) {
    release_cell(c);
    throw;
  }
  return c;
}

ShimCell list_cell(const Value& v, const ArgType* type) {
  ArgType element;
  if (type) {
    element = *type;
    element.list = false;
    element.optional = type->element_optional;
  }
  return filled(list_tag(v, type), v.size, v.size,
      [&](const ShimCell& c, size_t i) { put_element(c, i, v.items[i], type ? &element : nullptr); });
}

ShimCell dict_cell(const Value& v) {
  return filled(SHIM_DICT, v.size, 2 * size_t(v.size), [&](const ShimCell& c, size_t i) {
    auto* pair = static_cast<ShimCell*>(const_cast<void*>(c.p)) + 2 * i;
    pair[0] = cell_of(v.items[2 * i]);
    try {
      pair[1] = cell_of(v.items[2 * i + 1]);
    } catch (...) {
      release_cell(pair[0]);
      throw;
    }
  });
}

// What a list's cell holds, one value an element.
Value element_in(const ShimCell& c, size_t i, ValueRoom& room) {
  switch (c.tag) {
    case SHIM_INTS: return {Value::integer, static_cast<const int64_t*>(c.p)[i]};
    case SHIM_DOUBLES: return Value(static_cast<const double*>(c.p)[i]);
    case SHIM_BOOLS: return {Value::boolean, static_cast<const uint8_t*>(c.p)[i] != 0};
    case SHIM_TENSORS: return Value(tensor_in(static_cast<ShimTensor* const*>(c.p)[i]).get());
    default: return value_in(static_cast<const ShimCell*>(c.p)[i], room);
  }
}

Value sequence_in(const ShimCell& c, ValueRoom& room, Value::Tag tag, uint32_t elements) {
  Value* items = room.take(elements);
  for (uint32_t i = 0; i < elements; ++i) items[i] = element_in(c, i, room);
  return {tag, c.n, items};
}

Value object_in(const ShimCell& c) {
  Value v;
  v.tag = Value::object;
  v.held = const_cast<void*>(c.p);
  return v;
}

}  // namespace

Value value_in(const ShimCell& c, ValueRoom& room, const ArgType* wanted) {
  const bool as_real = wanted && wanted->base == ArgType::Float && !wanted->list;
  switch (c.tag) {
    case SHIM_NONE: return {};
    case SHIM_INT: return as_real ? Value(double(c.i)) : Value(Value::integer, c.i);
    case SHIM_DOUBLE: return Value(c.d);
    case SHIM_BOOL: return {Value::boolean, c.i != 0};
    case SHIM_COMPLEX: return Value(Scalar{Scalar::Complex, 0, c.d, c.im});
    case SHIM_TENSOR: return Value(tensor_in(static_cast<const ShimTensor*>(c.p)).get());
    case SHIM_STRING: return Value(std::string_view(static_cast<const char*>(c.p), c.n));
    case SHIM_DTYPE: return {Value::dtype, int64_t(abi::make_dtype(int32_t(c.i)))};
    case SHIM_DEVICE: return Value(abi::make_device(int32_t(c.i), int32_t(c.n)));
    case SHIM_LAYOUT: return {Value::layout, c.i};
    case SHIM_MEMORY_FORMAT: return {Value::memory_format, c.i};
    case SHIM_OBJECT: return object_in(c);
    case SHIM_DICT: return sequence_in(c, room, Value::dict, 2 * c.n);
    case SHIM_STREAM: {
      Value v(Value::stream, c.i);
      v.size = c.n;
      return v;
    }
    default: {
      const bool changeable = c.tag == SHIM_TENSORS || c.tag == SHIM_LIST, tuple = c.im == SHIM_TUPLE && changeable;
      Value v = sequence_in(c, room, changeable && !tuple ? Value::tensors : Value::list, c.n);
      if (tuple) v.width = Value::as_tuple;
      return v;
    }
  }
}

ShimCell cell_of(const Value& v, const ArgType* type) {
  if (v.is_number() && type && type->base == ArgType::Float && !type->list)
    return {.tag = SHIM_DOUBLE, .n = 0, .d = real(v), .im = 0};
  switch (v.tag) {
    case Value::none: return number_cell(SHIM_NONE, 0);
    case Value::tensor: return pointer_cell(SHIM_TENSOR, counted(Tensor(v.t)));
    case Value::boolean: return number_cell(SHIM_BOOL, v.i);
    case Value::integer: return number_cell(SHIM_INT, word(v, "an integer"));
    case Value::real: return {.tag = SHIM_DOUBLE, .n = 0, .d = v.f, .im = 0};
    case Value::complex: return {.tag = SHIM_COMPLEX, .n = 0, .d = v.f, .im = v.imag};
    case Value::text: return text_cell(v);
    case Value::dtype: return number_cell(SHIM_DTYPE, v.i);
    case Value::device: return number_cell(SHIM_DEVICE, int64_t(v.where.type), uint32_t(int32_t(v.where.index)));
    case Value::layout: return number_cell(SHIM_LAYOUT, v.i);
    case Value::memory_format: return number_cell(SHIM_MEMORY_FORMAT, v.i);
    case Value::list: return list_cell(v, type && type->list ? type : nullptr);
    case Value::dict: return dict_cell(v);
    case Value::object: interpreter_objects.retain(v.held); return pointer_cell(SHIM_OBJECT, v.held);
    default: fail(Kind::Type, "a ", v.type_name(), " cannot be given to an extension");
  }
}

void release_cell(ShimCell& c) noexcept {
  auto* cells = static_cast<ShimCell*>(const_cast<void*>(c.p));
  const auto drop = [](const void* t) {
    if (abi::Handle h = handle_in(static_cast<const ShimTensor*>(t)); abi::is_defined(h)) h->release();
  };
  switch (c.tag) {
    case SHIM_TENSOR: drop(c.p); break;
    case SHIM_TENSORS:
      for (uint32_t i = 0; i < c.n; ++i) drop(static_cast<ShimTensor* const*>(c.p)[i]);
      std::free(cells);
      break;
    case SHIM_LIST:
    case SHIM_DICT:
      for (uint32_t i = 0; i < (c.tag == SHIM_DICT ? 2 * c.n : c.n); ++i) release_cell(cells[i]);
      std::free(cells);
      break;
    case SHIM_STRING:
    case SHIM_INTS:
    case SHIM_DOUBLES:
    case SHIM_BOOLS: std::free(cells); break;
    case SHIM_OBJECT: interpreter_objects.release(const_cast<void*>(c.p)); break;
    default: break;
  }
  c = {};
}

}  // namespace shim

void shim_cxx_release(ShimCell* cells, size_t n) {
  for (size_t i = 0; i < n; ++i) shim::release_cell(cells[i]);
}
