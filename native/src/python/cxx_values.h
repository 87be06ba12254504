#pragma once
// What calls between C++ extensions and Python share. Everything here needs the GIL.
#include "abi/extension_cells.h"
#include "python/owned_ref.h"
#include "python/values.h"

namespace shim {

// A new reference; throws PythonError or Error.
inline PyObject* object_of(const ShimCell& c, const ArgType* wanted = nullptr) {
  ValueRoom room;
  return object_of(value_in(c, room, wanted));
}
inline ShimCell cell_of_object(PyObject* o, const ArgType* type = nullptr) { return cell_of(Values().of(o), type); }

void keep_error(const std::exception&) noexcept;  // as this thread's last; a Python error that is set is taken
// Runs f; 0, or -1 with the error kept.
template <class F> int kept(F&& f) noexcept {
  try {
    f();
    return 0;
  } catch (const std::exception& e) { keep_error(e); }
  return -1;
}
void raise_kept();  // the last error as a Python exception

}  // namespace shim
