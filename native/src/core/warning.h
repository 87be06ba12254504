#pragma once
// Warnings of the core, which the interpreter that called into it gives.
#include <string>
#include <utility>

namespace shim {

// Set by the binding when the module is loaded; throws where the caller has made warnings errors.
inline void (*warning_given)(const char* text) = nullptr;

inline void warn_user(const std::string& text) {
  if (warning_given) warning_given(text.c_str());
}

// What is said once, and each time after torch.set_warn_always(True).
inline bool warns_always = false;
inline void warn_user_once(bool& given, const char* text) {
  if (!std::exchange(given, true) || warns_always) warn_user(text);
}

}  // namespace shim
