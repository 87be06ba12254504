#include "trace/checks.h"

#include <algorithm>

#include "core/error.h"

namespace shim::trace {

void leave_out(std::optional<std::string_view> name) {
  left_out = 0;
  if (!name) return;
  const auto found = std::ranges::find(kCheckNames, *name);
  CHECK(Kind::Value, found != std::end(kCheckNames), "there is no check of ", *name);
  left_out = 1u << (found - kCheckNames);
}

std::vector<std::string> check_names() { return {std::begin(kCheckNames), std::end(kCheckNames)}; }

}  // namespace shim::trace
