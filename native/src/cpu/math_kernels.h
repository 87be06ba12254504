#pragma once
#include <cstring>
#include <span>

#include "cpu/loops.h"

namespace shim {

BlockKernel double_math_kernel(const char* name);  // the float64 loop of a function, vectorised; null if there is none

struct NamedKernel {
  const char* name;
  BlockKernel kernel;
};
inline BlockKernel kernel_named(const char* name, std::span<const NamedKernel> all) {  // null if there is none
  for (const NamedKernel& k : all)
    if (!std::strcmp(k.name, name)) return k.kernel;
  return nullptr;
}

}  // namespace shim
