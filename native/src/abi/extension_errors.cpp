#include "abi/extension_errors.h"

#include <new>
#include <utility>

#include "core/held_object.h"

namespace shim {

ExtensionError& extension_error() {
  static thread_local ExtensionError e;
  return e;
}

void put_extension_error(int kind, const char* text, void* exception) {
  ExtensionError& e = extension_error();
  if (void* old = std::exchange(e.exception, exception)) interpreter_objects.release(old);
  e.kind = kind;
  e.text = text;
}

int extension_kind(const Error& e) {
  const int kind = int(e.kind());
  return kind <= SHIM_OUT_OF_MEMORY ? kind : SHIM_PYTHON;
}

void keep_error(const std::exception& e) noexcept {
  if (keep_exception && keep_exception(e)) return;
  auto* ours = dynamic_cast<const Error*>(&e);
  const bool memory = dynamic_cast<const std::bad_alloc*>(&e);
  put_extension_error(ours ? extension_kind(*ours) : memory ? SHIM_OUT_OF_MEMORY : SHIM_RUNTIME, e.what(), nullptr);
}

}  // namespace shim

using namespace shim;

int shim_cxx_error(const char** text) {
  *text = extension_error().text.c_str();
  return extension_error().kind;
}

void shim_cxx_set_error(int kind, const char* text) {
  const ExtensionError& e = extension_error();
  if (e.exception && e.text == text) return;  // an exception of the interpreter's on its way through
  put_extension_error(kind, text, nullptr);
}
