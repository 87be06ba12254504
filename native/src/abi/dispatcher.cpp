// Calls from compiled code into the operator table, by name with a stack of values, and the eight operators that have a
// C function of their own.
#include "abi/abi.h"

using namespace shim;
using namespace shim::abi;

namespace {

// Steals the arguments on the stack and leaves the returns there.
Err dispatch(const char* name, const char* overload, Cell* stack, bool internal = false) {
  return caught([&] {
    CHECK(Kind::Runtime, name && stack, "torch_call_dispatcher: no operator name or stack");
    if (!overload) overload = "";
    if (call_compiled(name, overload, stack)) return;
    CHECK(Kind::Runtime, host().dispatch, "torch_call_dispatcher(", name, "): the interpreter is not there");
    host().dispatch(name, overload, stack, internal);
  });
}

Cell of(Handle borrowed) { return reinterpret_cast<Cell>(handle_of(Tensor(&tensor_of(borrowed)))); }
Cell of(double x) { return *reinterpret_cast<Cell*>(&x); }
Cell of(const int64_t* data, int64_t n) { return reinterpret_cast<Cell>(new List(data, data + n)); }
Cell optional(Cell v) { return reinterpret_cast<Cell>(new Cell(v)); }
Cell optional(const int32_t* v) { return v ? optional(Cell(uint32_t(*v))) : 0; }
Cell device(const int32_t* type, int32_t index) { return type ? optional(from_device(make_device(*type, index))) : 0; }

Err call(const char* name, const char* overload, Handle* result, std::initializer_list<Cell> args) {
  std::vector<Cell> stack(args);
  if (Err e = dispatch(name, overload, stack.data(), true)) return e;
  auto h = reinterpret_cast<Handle>(stack[0]);
  if (result)
    *result = h;
  else if (is_defined(h))
    h->release();
  return 0;
}

// Runs the call whose arguments `f` makes; a failure to make them is an error like any other.
template <class F> Err made(F&& f) {
  Err inner = 0;
  const Err outer = caught([&] { inner = f(); });
  return outer ? outer : inner;
}

}  // namespace

SHIM_EXPORT Err torch_call_dispatcher(const char* name, const char* overload, Cell* stack, uint64_t) {
  return dispatch(name, overload, stack);
}
SHIM_EXPORT Err aoti_torch_call_dispatcher(const char* name, const char* overload, Cell* stack) {
  return dispatch(name, overload, stack);
}

SHIM_EXPORT Err aoti_torch_aten_amax(Handle self, const int64_t* dim, int64_t n, int32_t keepdim, Handle* result) {
  return made([&] { return call("aten::amax", "", result, {of(self), of(dim, n), Cell(keepdim != 0)}); });
}
SHIM_EXPORT Err aoti_torch_aten_fill__Scalar(Handle self, double value) {
  return made([&] { return call("aten::fill_", "Scalar", nullptr, {of(self), of(value)}); });
}
SHIM_EXPORT Err aoti_torch_aten_full(const int64_t* size, int64_t n, double value, int32_t* dtype, int32_t* layout,
    int32_t* type, int32_t index, int32_t* pin, Handle* result) {
  return made([&] {
    return call("aten::full", "", result,
        {of(size, n), of(value), optional(dtype), optional(layout), device(type, index), optional(pin)});
  });
}
SHIM_EXPORT Err aoti_torch_aten_narrow(Handle self, int64_t dim, int64_t start, int64_t length, Handle* result) {
  return made([&] { return call("aten::narrow", "", result, {of(self), Cell(dim), Cell(start), Cell(length)}); });
}
SHIM_EXPORT Err aoti_torch_aten_new_empty(Handle self, const int64_t* size, int64_t n, int32_t* dtype, int32_t* layout,
    int32_t* type, int32_t index, int32_t* pin, Handle* result) {
  return made([&] {
    return call("aten::new_empty", "", result,
        {of(self), of(size, n), optional(dtype), optional(layout), device(type, index), optional(pin)});
  });
}
SHIM_EXPORT Err aoti_torch_aten_new_zeros(Handle self, const int64_t* size, int64_t n, int32_t* dtype, int32_t* layout,
    int32_t* type, int32_t index, int32_t* pin, Handle* result) {
  return made([&] {
    return call("aten::new_zeros", "", result,
        {of(self), of(size, n), optional(dtype), optional(layout), device(type, index), optional(pin)});
  });
}
SHIM_EXPORT Err aoti_torch_aten_pad(
    Handle self, const int64_t* pad, int64_t n, const char* mode, double* value, Handle* result) {
  return made([&] {
    return call("aten::pad", "", result,
        {of(self), of(pad, n), reinterpret_cast<Cell>(new std::string(mode)), value ? optional(of(*value)) : 0});
  });
}
SHIM_EXPORT Err aoti_torch_aten_subtract_Tensor(Handle self, Handle other, double alpha, Handle* result) {
  return made([&] { return call("aten::subtract", "Tensor", result, {of(self), of(other), of(alpha)}); });
}
