#pragma once
// Between values and the cells of C++ extensions (shim/c.h).
#include "abi/abi.h"
#include "shim/c.h"

namespace shim {

inline abi::Handle handle_in(const ShimTensor* t) { return reinterpret_cast<abi::Handle>(const_cast<ShimTensor*>(t)); }
inline Tensor tensor_in(const ShimTensor* t) {  // null and undefined: no tensor
  return abi::is_defined(handle_in(t)) ? Tensor(handle_in(t)) : Tensor();
}
inline ShimTensor* counted(const Tensor& t) {  // a new owning handle; null of no tensor
  if (t) t->retain();
  return reinterpret_cast<ShimTensor*>(t.get());
}

// An owned cell of what a schema's type, or (null) the value itself says.
ShimCell cell_of(const Value&, const ArgType* type = nullptr);
// What a cell holds, lent. With a type, what the schema wants: a number for a float.
Value value_in(const ShimCell&, ValueRoom&, const ArgType* wanted = nullptr);
void release_cell(ShimCell&) noexcept;

}  // namespace shim
