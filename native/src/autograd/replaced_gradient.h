#pragma once
#include <functional>
#include <string>

#include "core/tensor.h"

namespace shim {

// What a hook gave in the place of a gradient must be of its kind and size; null: nothing. `hook` names it.
void check_replaced(const Tensor& was, const Tensor& is, const std::function<std::string()>& hook);

}  // namespace shim
