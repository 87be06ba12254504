#pragma once
// What must be as it was when a node was learned, for a call to be that node's. Each can be left out: tests show that a stale answer comes
// then (_core.trace_leave_out).
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace shim::trace {

enum class Check : uint8_t {
  op,         // the operator
  gradient,   // whether a composite's history is wanted
  dtype,      // of a tensor
  sizes,      // and strides
  offset,     // in its memory
  bits,       // conjugate, negative
  memory,     // which tensors share memory
  fresh,      // and which do not
  shared,     // memory that others may use
  constants,  // other arguments
  modes,      // the default dtype
  // Of calls that are known whole (trace/whole.h):
  whole_names,      // what stands under the names that the function reads
  whole_constants,  // arguments that are no tensors
  whole_tensors,    // what the others are
  whole_memory,     // and which are the same, or share memory
  whole_modes,      // gradients, the default dtype, the current device, modes and transforms
};
constexpr std::string_view kCheckNames[] = {"op", "gradient", "dtype", "sizes", "offset", "bits", "memory", "fresh",
    "shared", "constants", "modes", "whole_names", "whole_constants", "whole_tensors", "whole_memory", "whole_modes"};

inline uint32_t left_out = 0;
// For tests alone.
void leave_out(std::optional<std::string_view> name);
std::vector<std::string> check_names();
inline bool looks_at(Check c) { return !(left_out >> uint32_t(c) & 1); }

}  // namespace shim::trace
