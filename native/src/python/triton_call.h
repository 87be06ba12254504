#pragma once
// A call of a Triton kernel: its arguments bound to the parameters, and the bytes that tell which compiled kernel it needs.
#include <string_view>
#include <vector>

#include "cuda/compiled_kernel.h"
#include "python/object.h"

namespace shim::triton {

struct Parameter {
  PyObject* name = nullptr;      // interned
  PyObject* fallback = nullptr;  // null: must be given
  bool constant = false;         // tl.constexpr
};

// Whether its address is a multiple of 16, which kernels are compiled for. Memory that is hidden will be, as all of our allocators is.
bool lies_aligned(const TensorImpl&);

using cuda::kGrid, cuda::kMostParameters, cuda::Slot;
constexpr size_t kMostKey = 2048;

// Arguments by parameter, borrowed; what is given beyond them are options (num_warps, ...).
struct Call {
  PyObject* values[kMostParameters] = {};
  PyObject *grid = nullptr, *warmup = nullptr;  // of run(..., grid=, warmup=)
  char key[kMostKey];
  size_t used = 0;
  bool identities = false;  // the key has addresses of objects: whoever keeps it keeps them

  std::string_view bytes() const { return {key, used}; }
};

// False where stock Triton must answer: a call that does not fit the signature, an argument of a kind that is not known here, a
// tensor that is not on CUDA. Keys may tell more apart than Triton does, never less. No Python error is left.
bool bind_call(const std::vector<Parameter>&, PyObject* const* args, size_t n, PyObject* kwnames, int device, Call*);

}  // namespace shim::triton
