// Vector products and complex numbers from polar coordinates on CUDA.
#include "cuda/cross_polar.h"
#include "python/native_cuda.h"
#include "python/tensor_type.h"

namespace shim {
namespace {

// vector_product(self, other, dim)
PyObject* native_cross(Operator&, PyObject* const* args, size_t n) {
  int64_t dim;
  if (n != 3 || !on_cuda(args[0]) || !on_cuda(args[1]) || !integer_of(args[2], &dim)) return nullptr;
  return guarded([&] { return wrapped(cuda::cross(Tensor(unwrap(args[0])), Tensor(unwrap(args[1])), dim)); });
}

// polar(abs, angle)
PyObject* native_polar(Operator&, PyObject* const* args, size_t n) {
  if (n != 2 || !on_cuda(args[0]) || !on_cuda(args[1])) return nullptr;
  if (!unwrap(args[0])->is_contiguous() || !unwrap(args[1])->is_contiguous())
    return nullptr;  // the result's order is the operands'
  return guarded([&] { return wrapped(cuda::polar(Tensor(unwrap(args[0])), Tensor(unwrap(args[1])))); });
}

}  // namespace

void register_cuda_cross_polar() {
  register_native("vector_product", native_cross);
  register_native("polar", native_polar);
}

}  // namespace shim
