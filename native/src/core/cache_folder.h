#pragma once
// Where compiled kernels and measured choices are kept between processes.
#include <cstdlib>
#include <string>

namespace shim {

// SHIM_CACHE_DIR, or shim_torch in the user's cache folder; empty when there is no place.
inline std::string cache_folder() {
  if (const char* own = std::getenv("SHIM_CACHE_DIR")) return own;
  if (const char* xdg = std::getenv("XDG_CACHE_HOME"); xdg && *xdg) return std::string(xdg) + "/shim_torch";
  if (const char* home = std::getenv("HOME"); home && *home) return std::string(home) + "/.cache/shim_torch";
  return {};
}

}  // namespace shim
