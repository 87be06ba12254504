#pragma once
// A thread's last error between C++ extensions and the core (shim/c.h): what no exception may carry across.
#include <exception>
#include <string>

#include "core/error.h"
#include "shim/c.h"

namespace shim {

struct ExtensionError {
  int kind = SHIM_RUNTIME;
  std::string text;
  void* exception = nullptr;  // the interpreter's own, where it came from there: a counted object
};
ExtensionError& extension_error();                                      // this thread's
void put_extension_error(int kind, const char* text, void* exception);  // takes the exception over
int extension_kind(const Error&);                                       // SHIM_PYTHON: of a class without a number
void keep_error(const std::exception&) noexcept;

// Set by the binding: keeps the interpreter's exception that is set, or the one that such an error is there. False: it has none.
inline bool (*keep_exception)(const std::exception&) = nullptr;

// Runs f; 0, or -1 with the error kept.
template <class F> int kept(F&& f) noexcept {
  try {
    f();
    return 0;
  } catch (const std::exception& e) { keep_error(e); }
  return -1;
}

}  // namespace shim
