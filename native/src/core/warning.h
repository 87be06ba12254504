#pragma once
// Warnings of the core, which the interpreter that called into it gives.
#include <string>

namespace shim {

// Set by the binding when the module is loaded; throws where the caller has made warnings errors.
inline void (*warning_given)(const char* text) = nullptr;

inline void warn_user(const std::string& text) {
  if (warning_given) warning_given(text.c_str());
}

}  // namespace shim
