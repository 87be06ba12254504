#pragma once
// Dispatch of tensors with a conjugate or negative bit: kernels that do not know the bits get resolved copies.
#include <vector>

#include "core/math_bits.h"
#include "python/dispatch.h"

namespace shim {

bool has_math_bits(PyObject* const* args, size_t n);  // looks into lists too
__attribute__((always_inline)) inline bool any_math_bits(PyObject* const* args, size_t n) {
  return __builtin_expect(math_bits_seen, 0) && has_math_bits(args, n);
}

// Bound arguments, resolved: tensors with a bit stand as copies of their values, everything else as it is.
class ResolvedArguments {
 public:
  // `recorded`: by the operator clone, which autograd and Python modes see.
  ResolvedArguments(PyObject* const* args, size_t n, bool recorded);
  ~ResolvedArguments();
  ResolvedArguments(const ResolvedArguments&) = delete;
  PyObject** data() { return given_.data(); }
  size_t size() const { return given_.size(); }
  bool write_back(const Schema&);        // what the operator wrote to copies goes to the tensors; false: Python error
  PyObject* original(PyObject* result);  // steals; a copy that the operator returned stands for its tensor

 private:
  PyObject* resolve(PyObject*, bool recorded);  // new reference
  std::vector<PyObject*> given_;                // owned
  PyObject* const* args_;
};

}  // namespace shim
