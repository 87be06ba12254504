#pragma once
// What calls between C++ extensions and Python share. Everything here needs the GIL.
#include "abi/extension_cells.h"
#include "abi/extension_errors.h"
#include "python/owned_ref.h"
#include "python/values.h"

namespace shim {

// A new reference; throws PythonError or Error. Lists of cells are lists or, where they are marked so, tuples.
PyObject* object_of(const ShimCell& c, const ArgType* wanted = nullptr);
inline ShimCell cell_of_object(PyObject* o, const ArgType* type = nullptr) { return cell_of(Values().of(o), type); }

struct Cells {  // owned
  std::vector<ShimCell> all;
  explicit Cells(size_t n = 0) : all(n) {}
  Cells(const Cells&) = delete;
  ~Cells() { shim_cxx_release(all.data(), all.size()); }
};

// Calls an extension's function, the interpreter's lock let go of; its error is Python's then.
void call_extension(ShimKernel, void* context, const Cells& given, Cells& results);
void raise_kept();                // the last error as a Python exception
void install_extension_errors();  // Python's exceptions are kept as they are

}  // namespace shim
