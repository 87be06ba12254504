#include "ops/shown_overload.h"

namespace shim {

namespace {

// PyTorch's names of the overloads with out= of operators whose own overload is Tensor and that have others for numbers.
std::string with_out(const Operator& op, const std::string& own, const char* number) {
  if (op.schema.name == "xlogy") return number ? "Out" + std::string(number) : "OutTensor";
  if (number) return number + std::string("_out");
  return own == "out" && op.schema.name != "copysign" && op.traits->number_overloads[0] ? "Tensor_out" : own;
}

}  // namespace

std::string shown_overload(const Operator& op, const Value* args, size_t n) {
  const std::string& own = op.schema.overload;
  if (n < 2) return own;
  if (op.schema.name == "where" && own == "self" && n == 3) {
    if (args[1].is_tensor()) return args[2].is_tensor() ? own : "ScalarOther";
    return args[2].is_tensor() ? "ScalarSelf" : "Scalar";
  }
  const bool tensors = args[0].is_tensor() && args[1].is_tensor();
  if (op.out ? !op.traits->number_overloads[0] : tensors || !own.starts_with("Tensor")) return own;
  // PyTorch's overloads for numbers; ours take numbers for tensors. Arithmetic (add, mul) does so there too.
  const auto& [second, first, in_place] = op.traits->number_overloads;
  const char* shown = tensors ? nullptr : !args[0].is_tensor() ? first : op.inplace && in_place ? in_place : second;
  if (op.out) return with_out(op, own, shown);
  return shown ? shown : own;
}

}  // namespace shim
