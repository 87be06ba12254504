#pragma once
#include <cstdint>

namespace shim {

enum class Reduction : uint8_t { sum, mean, prod, amax, amin, any, all, nansum };

}  // namespace shim
