#pragma once
// Calls of ATen operators through C functions with plain arguments, as torch/csrc/inductor/aoti_torch/generated declares
// them: the operator's schema says what each argument of the C function means.
#include <bit>
#include <type_traits>

#include "abi/abi.h"

namespace shim::abi {

// Runs aten::name.overload. `cells` are the C function's arguments, in order: the tensor to write of an out= overload,
// the arguments of the schema (lists and devices are two each, an optional one is a pointer), places for the results.
// Tensors are borrowed, results are new handles. An in-place or out= overload has no places.
Err call_aten(const char* name, const char* overload, const uint64_t* cells, size_t count) noexcept;

template <class T> uint64_t cell_of(T x) noexcept {
  if constexpr (std::is_pointer_v<T>)
    return reinterpret_cast<uint64_t>(x);
  else if constexpr (std::is_floating_point_v<T>)
    return std::bit_cast<uint64_t>(double(x));
  else
    return uint64_t(int64_t(x));
}

template <class... A> Err aten(const char* name, const char* overload, A... args) noexcept {
  const uint64_t cells[] = {cell_of(args)...};
  return call_aten(name, overload, cells, sizeof...(A));
}

}  // namespace shim::abi
