// From the plain arguments of a C function to the stack of an operator, by the operator's schema, and back.
#include "abi/aten_call.h"

#include "abi/operators.h"

namespace shim::abi {
namespace {

template <class T> T at(uint64_t address, int64_t i = 0) { return reinterpret_cast<const T*>(address)[i]; }

Cell owned(Handle h) { return reinterpret_cast<Cell>(handle_of(is_defined(h) ? Tensor(h) : Tensor())); }

Cell owned(HeldGenerator* g) {
  if (g) g->retain();
  return reinterpret_cast<Cell>(g);
}

// The i-th element that a pointer points to, as PyTorch passes that type: a bool is an int32, a Scalar a double.
Cell element(const ArgType& type, uint64_t address, int64_t i) {
  switch (type.base) {
    case ArgType::Tensor: return owned(at<Handle>(address, i));
    case ArgType::Generator: return owned(at<HeldGenerator*>(address, i));
    case ArgType::Str: return reinterpret_cast<Cell>(new std::string(at<const char*>(address, i)));
    case ArgType::Int:
    case ArgType::Float:
    case ArgType::Scalar: return at<uint64_t>(address, i);
    case ArgType::Bool: return at<int32_t>(address, i) != 0;
    case ArgType::ScalarType:
    case ArgType::Layout:
    case ArgType::MemoryFormat: return uint32_t(at<int32_t>(address, i));
    default:
      fail(Kind::NotImplemented, "an argument of type ", type_text(type), " has no form in PyTorch's C interface");
  }
}

Cell plain(const ArgType& type, uint64_t cell) {
  switch (type.base) {
    case ArgType::Tensor: return owned(&tensor_of(reinterpret_cast<Handle>(cell)));
    case ArgType::Generator: return owned(reinterpret_cast<HeldGenerator*>(cell));
    case ArgType::Str: return reinterpret_cast<Cell>(new std::string(reinterpret_cast<const char*>(cell)));
    case ArgType::Bool: return cell != 0;
    case ArgType::ScalarType:
    case ArgType::Layout:
    case ArgType::MemoryFormat: return uint32_t(cell);
    default: return cell;
  }
}

Cell owned(Cell v) { return reinterpret_cast<Cell>(new Cell(v)); }

// An optional tensor inside of a list is a pointer to a handle; no tensor is a null pointer or an undefined handle.
Cell optional_tensor(uint64_t address) {
  return address && is_defined(at<Handle>(address)) ? owned(owned(at<Handle>(address))) : 0;
}

struct Stack {  // frees what nobody took when a later argument is wrong
  const Schema& schema;
  std::vector<Cell> values;
  explicit Stack(const Schema& s) : schema(s) { values.reserve(std::max(s.args.size(), s.returns.size())); }
  ~Stack() { release_arguments(schema, values.data(), values.size()); }
};

struct Reader {
  const uint64_t *next, *end;
  uint64_t take() {
    CHECK(Kind::Runtime, next < end, "the C function has fewer arguments than the operator's schema wants");
    return *next++;
  }
  Cell list(const ArgType& type, uint64_t address) {
    const auto n = int64_t(take());
    auto made = std::make_unique<List>();
    made->reserve(size_t(n));
    for (int64_t i = 0; i < n; ++i)
      made->push_back(type.element_optional ? optional_tensor(at<uint64_t>(address, i)) : element(type, address, i));
    return reinterpret_cast<Cell>(made.release());
  }
  Cell argument(const ArgType& type) {
    const uint64_t cell = take();
    if (type.list && type.optional) {  // a pointer to the list's pointer
      if (cell) return owned(list(type, at<uint64_t>(cell)));
      take();
      return 0;
    }
    if (type.list) return list(type, cell);
    if (type.base == ArgType::Device) {  // the index is an argument of its own
      const auto index = int32_t(take());
      if (!type.optional) return from_device(make_device(int32_t(cell), index));
      return cell ? owned(from_device(make_device(at<int32_t>(cell), index))) : 0;
    }
    if (!type.optional) return plain(type, cell);
    if (type.base == ArgType::Tensor) return optional_tensor(cell);
    return cell ? owned(element(type, cell, 0)) : 0;
  }
};

void give(const Return& r, Cell v, uint64_t place) {
  if (!place) return release(r.type, v);
  if (r.type.base == ArgType::Tensor && !r.type.list)
    *reinterpret_cast<Handle*>(place) = reinterpret_cast<Handle>(v);
  else if (r.type.base == ArgType::Bool)
    *reinterpret_cast<int32_t*>(place) = (v & 0xff) != 0;
  else
    *reinterpret_cast<Cell*>(place) = v;
}

}  // namespace

Err call_aten(const char* name, const char* overload, const uint64_t* cells, size_t count) noexcept {
  return caught([&] {
    CHECK(Kind::Runtime, host().dispatch, name, ": the interpreter is not there");
    const Schema* schema = nullptr;
    with_gil([&] { schema = schema_of_operator(name, overload); });
    CHECK(Kind::NotImplemented, schema, "Could not find schema for ", name, ".", overload,
        ": shim-torch has no such operator");
    Reader outs{cells, cells + count}, in{cells, cells + count};
    for (const Argument& a : schema->args)
      if (a.is_out) in.take();
    Stack stack(*schema);
    for (const Argument& a : schema->args) stack.values.push_back((a.is_out ? outs : in).argument(a.type));
    const size_t returns = schema->returns.size(), places = size_t(in.end - in.next);
    CHECK(Kind::Runtime, places == 0 || places == returns, name, ": the C function has ", places,
        " results, the operator ", returns);
    std::vector<Cell> values = std::exchange(stack.values, {});  // the call steals them
    values.resize(std::max(values.size(), returns));
    host().dispatch(name, overload, values.data(), true);
    for (size_t i = 0; i < returns; ++i) give(schema->returns[i], values[i], places ? in.take() : 0);
  });
}

}  // namespace shim::abi
