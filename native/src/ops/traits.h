#pragma once
// What a record says of its operator beside the schema; TRAITS in shim_torch/_impl/table/record.py explains each.
#include <array>
#include <cstdint>
#include <vector>

namespace shim {

// The last ones are those of one device, or differ by it.
enum class CastPolicy : uint8_t {
  none,
  off,  // nothing is cast, also not by what it is made of
  lower_precision,
  promote,
  float32,
  float16,
  float32_cpu,
  float32_cuda,
  lower_precision_cpu,
  lower_precision_cuda,
  promote_cuda,
  float32_cpu_promote_cuda,
  off_cpu_promote_cuda
};
enum class Numbers : uint8_t { none, any, not_first, not_all };  // which tensors a Python number may stand for
enum class OutOverlap : uint8_t { elementwise, refused, unchecked };
enum class OutOrder : uint8_t { result, contiguous, contiguous_when_resized };
enum class OutResize : uint8_t { warned, silent, rounded, first };

// Texts belong to the record, which lives as long as the table; null where it says nothing.
struct Traits {
  CastPolicy autocast = CastPolicy::none;
  Numbers numbers = Numbers::none;
  OutOverlap overlap = OutOverlap::elementwise;
  OutOrder out_order = OutOrder::result;
  OutResize out_resize = OutResize::warned;
  bool reads_math_bits = false, sums_in_out_dtype = false, writes_out_last = false, never_differentiable = false,
       any_out_shape = false, dim_names = false, renews_numbers = false, saves_tables = false;
  const char *expanded = nullptr, *out_dtype = nullptr, *cast_error = nullptr, *out_error_name = nullptr,
             *forward_error_name = nullptr, *part_of = nullptr, *out_overload = nullptr;
  std::array<const char*, 3> number_overloads{};  // the second operand is a number, the first is, the second in place
  std::vector<const char*> old_orders, python_names;  // the latter: a schema's name, Python's, and so on
  const char *gradient_name = nullptr, *channels_last = nullptr;
};

inline const Traits kNoTraits{};

struct Value;
// What the options of a record say, a dict whose texts belong to the record; never freed. Those that only Python reads are left out.
const Traits* read_traits(const Value& options);

}  // namespace shim
