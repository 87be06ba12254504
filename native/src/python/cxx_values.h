#pragma once
// Between Python objects and the cells of C++ extensions (shim/c.h). Everything here needs the GIL.
#include "abi/abi.h"
#include "python/object.h"
#include "shim/c.h"

namespace shim {

inline abi::Handle handle_in(const ShimTensor* t) { return reinterpret_cast<abi::Handle>(const_cast<ShimTensor*>(t)); }
inline Tensor tensor_in(const ShimTensor* t) {  // null and undefined: no tensor
  return abi::is_defined(handle_in(t)) ? Tensor(handle_in(t)) : Tensor();
}
inline ShimTensor* counted(const Tensor& t) {  // a new owning handle; null of no tensor
  if (t) t->retain();
  return reinterpret_cast<ShimTensor*>(t.get());
}
// A new reference; throws PythonError or Error. With a type, what the schema wants: a number for a float, a tuple for int[2].
PyObject* object_of(const ShimCell&, const ArgType* wanted = nullptr);
// An owned cell of what a schema's type, or (null) the object itself says.
ShimCell cell_of_object(PyObject*, const ArgType* type = nullptr);
void release_cell(ShimCell&) noexcept;

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
