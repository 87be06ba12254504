#pragma once
// What an optimizer's step makes of one element on the CPU: the rules that CUDA's kernels have too.
#include <type_traits>

#include "cpu/types.h"

namespace shim::optimizers {

template <class T> using Wide = std::conditional_t<std::is_same_v<T, double>, double, float>;
template <class T> Wide<T> rounded(Wide<T> x) {  // as a tensor of T holds it
  if constexpr (std::is_same_v<T, Wide<T>>)
    return x;
  else
    return to_float(cast_element<T>(x));
}

}  // namespace shim::optimizers

#include "ops/special/optimizer_rules.h"
