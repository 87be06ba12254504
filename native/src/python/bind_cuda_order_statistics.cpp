// kthvalue, median, nanmedian and mode on CUDA.
#include <algorithm>

#include "cuda/kthvalue.h"
#include "python/native_cuda.h"
#include "python/tensor_type.h"

namespace shim {
namespace {

PyObject* ranked(PyObject* self, int64_t dim, cuda::OrderStatistic kind, int64_t k, bool keepdim) {
  return guarded([&]() -> PyObject* {
    Tensor indices;
    const Tensor values = cuda::order_statistic(Tensor(unwrap(self)), dim, kind, k, keepdim, &indices);
    return values ? tuple_of({values, indices}) : nullptr;
  });
}

// kthvalue(self, k, dim, keepdim)
PyObject* native_kthvalue(Operator&, PyObject* const* args, size_t n) {
  int64_t k, dim;
  if (n != 4 || !on_cuda(args[0]) || !integer_of(args[1], &k) || !integer_of(args[2], &dim)) return nullptr;
  return ranked(args[0], dim, cuda::OrderStatistic::kth, k, args[3] == Py_True);
}

// median(self), median(self, dim, keepdim)
PyObject* native_median(Operator&, PyObject* const* args, size_t n) {
  int64_t dim;
  if (!n || !on_cuda(args[0])) return nullptr;
  if (n == 3)
    return integer_of(args[1], &dim) ? ranked(args[0], dim, cuda::OrderStatistic::median, 0, args[2] == Py_True)
                                     : nullptr;
  if (n != 1) return nullptr;
  return guarded([&]() -> PyObject* {
    const Tensor self(unwrap(args[0]));
    return wrapped(cuda::order_statistic(
        view(*contiguous(self), Dims{self->numel()}), 0, cuda::OrderStatistic::median, 0, false, nullptr));
  });
}

// nanmedian(self, dim, keepdim)
PyObject* native_nanmedian(Operator&, PyObject* const* args, size_t n) {
  int64_t dim;
  if (n != 3 || !on_cuda(args[0]) || !integer_of(args[1], &dim)) return nullptr;
  return ranked(args[0], dim, cuda::OrderStatistic::nanmedian, 0, args[2] == Py_True);
}

// mode(self, dim, keepdim)
PyObject* native_mode(Operator&, PyObject* const* args, size_t n) {
  int64_t dim;
  if (n != 3 || !on_cuda(args[0]) || !integer_of(args[1], &dim)) return nullptr;
  return guarded([&]() -> PyObject* {
    Tensor indices;
    const Tensor values = cuda::mode(Tensor(unwrap(args[0])), dim, args[2] == Py_True, &indices);
    return values ? tuple_of({values, indices}) : nullptr;
  });
}

}  // namespace

void register_cuda_order_statistics() {
  register_native("kthvalue", native_kthvalue);
  register_native("median", native_median);
  register_native("nanmedian", native_nanmedian);
  register_native("mode", native_mode);
}

}  // namespace shim
