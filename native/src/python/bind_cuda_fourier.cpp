// Fourier transforms on CUDA of the last dimensions. Others are left to the records' bodies.
#include <cmath>

#include "cuda/cufft.h"
#include "cuda/elementwise.h"
#include "python/native_cuda.h"
#include "python/tensor_type.h"

namespace shim {
namespace {

// (self, dim, normalization, forward), (self, dim, normalization, onesided), (self, dim, normalization, last_dim_size)
template <cuda::Transform how> PyObject* native_cuda_fft(Operator&, PyObject* const* args, size_t n) {
  if (n != 4 || !is_tensor(args[0]) || !PyLong_Check(args[2])) return nullptr;
  const TensorImpl& t = *unwrap(args[0]);
  if (!t.device().is_cuda() || !t.numel() || t.has_math_bits()) return nullptr;
  return guarded([&]() -> PyObject* {
    Tensor self(unwrap(args[0]));
    Dims dims;
    if (!dims_of(args[1], &dims)) return nullptr;
    const int64_t ndim = self->dim(), rank = int64_t(dims.size());
    if (rank < 1 || rank > 3 || rank > ndim) return nullptr;
    bool among[3] = {};
    for (int64_t& d : dims) {
      d += d < 0 ? ndim : 0;
      const int64_t place = d - (ndim - rank);
      if (place < 0 || place >= rank || among[place]) return nullptr;
      among[place] = true;
    }
    constexpr bool halved = how != cuda::Transform::complex;
    if (halved && dims.back() != ndim - 1) return nullptr;
    const int64_t size = how == cuda::Transform::to_real ? PyLong_AsLongLong(args[3]) : 0;
    if (how == cuda::Transform::to_real && (size < 1 || self->sizes().back() != size / 2 + 1)) return nullptr;
    int64_t count = size ? size : 1;
    for (int64_t d = ndim - rank; d < ndim - (size ? 1 : 0); ++d) count *= self->sizes()[size_t(d)];
    const long mode = PyLong_AsLong(args[2]);
    const double scale = mode == 1 ? 1 / std::sqrt(double(count)) : mode == 2 ? 1 / double(count) : 1;
    if (how == cuda::Transform::from_real && args[3] != Py_True) {  // all of it: that of complex numbers
      const DType made = self->dtype() == DType::f64 ? DType::c128 : DType::c64;
      if (self->dtype() != DType::f32 && self->dtype() != DType::f64) return nullptr;
      const Tensor wide = empty(self->sizes(), made, self->device());
      copy_(wide, self);
      return wrapped(cuda::fourier(cuda::Transform::complex, wide, int(rank), true, scale, 0));
    }
    return wrapped(
        cuda::fourier(how, self, int(rank), how == cuda::Transform::complex && args[3] == Py_True, scale, size));
  });
}

}  // namespace

void register_cuda_fourier() {
  register_native("fft_c2c", native_cuda_fft<cuda::Transform::complex>);
  register_native("fft_r2c", native_cuda_fft<cuda::Transform::from_real>);
  register_native("fft_c2r", native_cuda_fft<cuda::Transform::to_real>);
}

}  // namespace shim
