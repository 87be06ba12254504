#pragma once
// What goes wrong between processes. The binding raises torch.distributed's exception of the kind.
#include <chrono>
#include <exception>
#include <string>

#include "core/error.h"

namespace shim::distributed {

using Clock = std::chrono::steady_clock;
using Milliseconds = std::chrono::milliseconds;

enum class FailureKind { backend, network, store, queue };

class Failure : public std::exception {
 public:
  Failure(FailureKind kind, std::string text) : kind_(kind), text_(std::move(text)) {}
  const char* what() const noexcept override { return text_.c_str(); }
  FailureKind kind() const noexcept { return kind_; }

 private:
  FailureKind kind_;
  std::string text_;
};

template <class... A> [[noreturn]] void fail_between(FailureKind kind, const A&... parts) {
  throw Failure(kind, str(parts...));
}

}  // namespace shim::distributed
