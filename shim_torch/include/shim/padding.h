#pragma once
// torch::nn::functional::pad, which is all of torch::nn that kernels' own hosts call.
#include <variant>

#include <shim/functions.h>

namespace torch {
namespace enumtype {
struct kConstant {};
struct kReflect {};
struct kReplicate {};
struct kCircular {};
}  // namespace enumtype
constexpr enumtype::kConstant kConstant{};
constexpr enumtype::kReflect kReflect{};
constexpr enumtype::kReplicate kReplicate{};
constexpr enumtype::kCircular kCircular{};

namespace nn {
namespace functional {

class PadFuncOptions {
 public:
  using mode_t = std::variant<enumtype::kConstant, enumtype::kReflect, enumtype::kReplicate, enumtype::kCircular>;
  PadFuncOptions(std::vector<int64_t> pad) : pad_(std::move(pad)) {}
  PadFuncOptions& mode(mode_t m) { return mode_ = m, *this; }
  PadFuncOptions& value(double v) { return value_ = v, *this; }
  const std::vector<int64_t>& pad() const { return pad_; }
  const mode_t& mode() const { return mode_; }
  double value() const { return value_; }

 private:
  std::vector<int64_t> pad_;
  mode_t mode_;
  double value_ = 0;
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
