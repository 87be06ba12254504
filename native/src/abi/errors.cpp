// Failure texts, warnings and checks of the stable C ABI.
#include <cstdio>

#include "abi/abi.h"

namespace shim::abi {
namespace {

// Leaked on purpose: handles are dropped by static destructors, after thread-local ones have run.
std::string& text() {
  static thread_local auto* t = new std::string;
  return *t;
}

}  // namespace

void set_last_error(const std::string& message) noexcept {
  try {
    text() = message;
  } catch (...) {}
}
const std::string& last_error() noexcept { return text(); }
void clear_last_error() noexcept { text().clear(); }

Host& host() {
  static Host h;
  return h;
}

}  // namespace shim::abi

using namespace shim;
using namespace shim::abi;

SHIM_EXPORT const char* torch_exception_get_what() { return last_error().c_str(); }
SHIM_EXPORT const char* torch_exception_get_what_without_backtrace() { return last_error().c_str(); }

SHIM_EXPORT void aoti_torch_warn(const char* function, const char* file, uint32_t line, const char* message) {
  const std::string text = str(message, " (Triggered internally at ", file, ":", line, ", ", function, ".)");
  if (host().warn)
    host().warn(text.c_str());
  else
    std::fprintf(stderr, "Warning: %s\n", text.c_str());
}

// The one function of the interface that throws: extensions call it as TORCH_CHECK.
SHIM_EXPORT void aoti_torch_check(
    bool condition, const char* function, const char* file, uint32_t line, const char* message) {
  if (!condition) fail(Kind::Runtime, message, " (", function, " at ", file, ":", line, ")");
}
