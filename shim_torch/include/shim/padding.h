#pragma once
// torch::nn::functional::pad, and how the options of all its functions are declared.
#include <variant>

#include <shim/functions.h>

// One value of a choice: a type, which std::variant tells from the others, and its constant.
#define SHIM_CHOICE(name)    \
  namespace enumtype {       \
  struct name {};            \
  } /* namespace enumtype */ \
  constexpr enumtype::name name{};
// A member of options with its setter, which gives the options again, and its getter.
#define SHIM_OPTION(type, name, ...)                       \
  auto& name(const type& v) { return name##_ = v, *this; } \
  const type& name() const { return name##_; }             \
  type name##_ { __VA_ARGS__ }

namespace torch {
SHIM_CHOICE(kConstant)
SHIM_CHOICE(kReflect)
SHIM_CHOICE(kReplicate)
SHIM_CHOICE(kCircular)

namespace nn {
namespace functional {

struct PadFuncOptions {
  using mode_t = std::variant<enumtype::kConstant, enumtype::kReflect, enumtype::kReplicate, enumtype::kCircular>;
  PadFuncOptions(std::vector<int64_t> pad) : pad_(std::move(pad)) {}
  SHIM_OPTION(std::vector<int64_t>, pad);
  SHIM_OPTION(mode_t, mode);
  SHIM_OPTION(double, value);
};

// Negative numbers cut off. Errors: those of the operator `pad`.
inline at::Tensor pad(const at::Tensor& input, const PadFuncOptions& options) {
  static const char* const names[] = {"constant", "reflect", "replicate", "circular"};
  const size_t mode = options.mode().index();
  return at::pad(input, options.pad(), names[mode], mode ? std::nullopt : std::optional<double>(options.value()));
}

}  // namespace functional
}  // namespace nn
}  // namespace torch
