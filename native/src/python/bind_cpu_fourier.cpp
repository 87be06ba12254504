// CPU kernels of Fourier transforms.
#include <algorithm>
#include <cmath>

#include "core/order.h"
#include "cpu/fourier.h"
#include "python/native_cpu.h"

namespace shim {
namespace {

// The dims in order of memory as PyTorch leaves the result: the others first, each part with its largest strides first, and `last`,
// where one dim is halved, at the very end. False where the record has to say what is wrong.
bool ordered(const TensorImpl& self, Dims* dims, bool halved, Dims* order) {
  const int64_t n = self.dim();
  bool among[kMaxDims] = {};
  for (int64_t& d : *dims) {
    if (d < -n || d >= n) return false;
    if (d < 0) d += n;
    if (among[d]) return false;
    among[d] = true;
  }
  if (dims->empty() || !self.numel()) return false;
  auto slower = [&](int64_t a, int64_t b) { return self.strides()[size_t(a)] > self.strides()[size_t(b)]; };
  sort_few(dims->data(), dims->data() + dims->size() - halved, slower);
  for (int64_t d = 0; d < n; ++d)
    if (!among[d]) order->push_back(d);
  sort_few(order->data(), order->data() + order->size(), slower);
  order->insert(order->end(), dims->begin(), dims->end());
  return true;
}

double scale_of(long normalization, int64_t count) {
  return normalization == 1 ? 1 / std::sqrt(double(count)) : normalization == 2 ? 1 / double(count) : 1;
}

// (self, dim, normalization, forward), (self, dim, normalization, onesided), (self, dim, normalization, last_dim_size)
template <Fourier like> PyObject* native_fft(Operator&, PyObject* const* args, size_t n) {
  if (n != 4 || !on_cpu(args[0]) || !PyTuple_Check(args[1]) || !PyLong_Check(args[2])) return nullptr;
  return guarded([&]() -> PyObject* {
    const Tensor self(unwrap(args[0]));
    Dims dims, order;
    const bool halved = like != Fourier::complex, to_real = like == Fourier::to_real;
    if (!dims_of(args[1], &dims) || !ordered(*self, &dims, halved, &order)) return nullptr;
    const int64_t size = to_real ? PyLong_AsLongLong(args[3]) : 0;
    if (to_real && (size < 1 || self->size(dims.back()) != size / 2 + 1)) return nullptr;
    int64_t count = 1;
    for (int64_t d : dims) count *= to_real && d == dims.back() ? size : self->size(d);
    const bool forward = halved ? !to_real : args[3] == Py_True;
    const Fourier kind = like == Fourier::from_real && args[3] != Py_True ? Fourier::from_real_whole : like;
    const double scale = scale_of(PyLong_AsLong(args[2]), count);
    return wrapped(unlocked(self->numel(), [&] { return fourier(kind, self, dims, order, forward, scale, size); }));
  });
}

}  // namespace

void register_cpu_fourier() {
  register_native_cpu("fft_c2c", native_fft<Fourier::complex>);
  register_native_cpu("fft_r2c", native_fft<Fourier::from_real>);
  register_native_cpu("fft_c2r", native_fft<Fourier::to_real>);
}

}  // namespace shim
