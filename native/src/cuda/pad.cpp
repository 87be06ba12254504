#include "cuda/pad.h"

#include <algorithm>

#include "cuda/elementwise.h"
#include "cuda/entries/pad.h"
#include "cuda/reasons.h"
#include "ops/kernels.h"
#include "ops/moves.h"
#include "ops/repeat.h"

namespace shim::cuda {
namespace {

constexpr int kFrameDims = 8;

const Family pad_family{"pad"};

struct Frame {
  int64_t size[kFrameDims] = {}, begin[kFrameDims] = {}, inner[kFrameDims] = {}, step[kFrameDims] = {};
  int dims = 0;
};

// The frame of self with before[d] and after[d] more elements along each dimension, of `shape` in all; false: too many dims.
bool frame_of(const TensorImpl& self, IntArrayRef before, IntArrayRef after, IntArrayRef shape, Frame& f) {
  for (int d = self.dim() - 1; d >= 0; --d) {
    const size_t i = size_t(d);
    const bool whole = !before[i] && !after[i] && f.dims;  // this dimension goes on in the next one
    const int last = f.dims - 1;
    if (whole && !f.begin[last] && f.size[last] == f.inner[last] && f.step[last] * f.size[last] == self.strides()[i]) {
      f.size[last] *= shape[i];
      f.inner[last] = f.size[last];
      continue;
    }
    if (f.dims == kFrameDims) return false;
    f.size[f.dims] = shape[i];
    f.begin[f.dims] = before[i];
    f.inner[f.dims] = self.sizes()[i];
    f.step[f.dims++] = self.strides()[i];
  }
  return true;
}

}  // namespace

Outcome<Tensor> constant_pad(const Tensor& given, IntArrayRef pairs, Scalar value) {
  const TensorImpl& self = *given;
  const size_t dims = size_t(self.dim());
  if (pairs.size() % 2 || pairs.size() / 2 > dims) return kOtherSizes;
  if (!self.is_contiguous()) return kStrided;
  Dims before(dims), after(dims), shape(self.sizes().begin(), self.sizes().end());
  for (size_t i = 0; i < pairs.size() / 2; ++i) {
    const size_t d = dims - 1 - i;
    before[d] = pairs[2 * i];
    after[d] = pairs[2 * i + 1];
    shape[d] += before[d] + after[d];
    if (before[d] < -self.sizes()[d] || after[d] < -self.sizes()[d] || shape[d] < 0) return kOtherSizes;
  }
  check_fits(value, self.dtype());
  if (!kernels_ready()) return kNoCompiler;
  if (dims == 0 || !self.numel()) return kNoElements;
  if (value.type == Scalar::Complex || is_complex(self.dtype())) return kOtherDtype;
  Frame f;
  if (!frame_of(self, before, after, shape, f)) return kTooManyDims;
  const int64_t size = int64_t(self.itemsize());
  int64_t n = product_of(shape, 0, shape.size());
  const int v = int(std::max<int64_t>(16 / size, 1)), device = self.device().index;
  const bool wide = n >= int64_t(1) << 31;
  if ((n / v + 256) / 256 > kMostBlocks) return kTooMany;
  const auto k = find_kernel<entries::pad::pad>(pad_family, key_of(size, v, wide), device, [&] {
    return std::vector<std::string>{
        std::string("ELEMENT=") + word_type(size), "V=" + std::to_string(v), wide ? "WIDE=1" : "WIDE=0"};
  });
  if (!k) return kNotCompiled;
  const Tensor out = empty(shape, self.dtype(), self.device());
  if (!n) return out;
  alignas(16) char bits[16] = {};
  store_number(bits, self.dtype(), value);
  launch(k, {((n + v - 1) / v + 255) / 256}, device, out->data(), self.data(), Bytes{bits}, n, f);
  return out;
}

namespace {

// self, of before[d] elements from its end and as many as after[d] from its beginning more along each dim; in C order.
Outcome<Tensor> wrapped(const TensorImpl& self, const Dims& before, const Dims& after) {
  if (!kernels_ready()) return kNoCompiler;
  if (self.dim() == 0 || !self.numel()) return kNoElements;
  Dims shape(self.sizes().begin(), self.sizes().end());
  for (size_t d = 0; d < shape.size(); ++d) shape[d] += before[d] + after[d];
  Frame f;
  if (!frame_of(self, before, after, shape, f)) return kTooManyDims;
  const Tensor out = empty(shape, self.dtype(), self.device());
  int64_t size = int64_t(self.itemsize()), n = out->numel();
  if (f.begin[0] == 0 && f.size[0] == f.inner[0] && f.step[0] == 1) {  // rows move as they are: by wider words
    uint64_t places = uint64_t(f.size[0] * size) | reinterpret_cast<uintptr_t>(self.data()) | 16;
    for (int d = 1; d < f.dims; ++d) places |= uint64_t(f.step[d] * size);
    const int64_t word = int64_t(places & ~(places - 1)), many = std::max<int64_t>(word / size, 1);
    f.size[0] /= many, f.inner[0] /= many, n /= many, size *= many;
    for (int d = 1; d < f.dims; ++d) f.step[d] /= many;
  }
  const int v = int(std::max<int64_t>(16 / size, 1)), device = self.device().index;
  const bool wide = n >= int64_t(1) << 31;
  if ((n / v + 256) / 256 > kMostBlocks) return kTooMany;
  const auto k = find_kernel<entries::pad::wrap>(pad_family, key_of(size, v, wide), device, [&] {
    return std::vector<std::string>{
        std::string("ELEMENT=") + word_type(size), "V=" + std::to_string(v), wide ? "WIDE=1" : "WIDE=0"};
  });
  if (!k) return kNotCompiled;
  launch(k, {((n + v - 1) / v + 255) / 256}, device, out->data(), self.data(), n, f);
  return out;
}

}  // namespace

Outcome<Tensor> circular_pad(const Tensor& self, IntArrayRef pairs) {
  const size_t dims = size_t(self->dim());
  if (pairs.size() % 2 || pairs.size() / 2 > dims) return kOtherSizes;
  if (self->has_math_bits()) return NotMine{"negative or conjugate bits"};
  Dims before(dims), after(dims);
  for (size_t i = 0; i < pairs.size() / 2; ++i) {
    const size_t d = dims - 1 - i;
    before[d] = pairs[2 * i];
    after[d] = pairs[2 * i + 1];
    const int64_t most = self->sizes()[d];
    if (before[d] < 0 || after[d] < 0 || before[d] > most || after[d] > most) return kOtherSizes;
  }
  return wrapped(*self, before, after);
}

Outcome<Tensor> roll(const Tensor& self, IntArrayRef shifts, IntArrayRef dims) {
  const bool flat = dims.empty();
  if (!self->numel() || self->has_math_bits() || shifts.size() != (flat ? 1 : dims.size()) || shifts.empty())
    return shim::roll(self, shifts, dims);  // which says why
  const Dims order = flat ? Dims{} : channels_last_order(*self);
  const Tensor lying = flat            ? view(*contiguous(self), Dims{self->numel()})
                       : order.empty() ? self
                                       : permute(*self, order);
  const Dims places = inverse_permutation(order);
  Dims before(size_t(lying->dim())), after(size_t(lying -> dim()));
  for (size_t i = 0; i < shifts.size(); ++i) {
    int64_t d = flat ? 0 : dims[i];
    if (d < -lying->dim() || d >= lying->dim()) return NotMine{"a dim out of range"};
    if (d < 0) d += lying->dim();
    if (!order.empty()) d = places[size_t(d)];
    const int64_t size = lying->sizes()[size_t(d)];
    before[size_t(d)] = ((before[size_t(d)] + shifts[i] % size) % size + size) % size;
    after[size_t(d)] = -before[size_t(d)];
  }
  Outcome<Tensor> moved = wrapped(*lying, before, after);
  if (!moved) return shim::roll(self, shifts, dims);
  if (flat) return view(**moved, self->sizes());
  return order.empty() ? *moved : permute(**moved, places);
}

Outcome<Tensor> repeat(const Tensor& self, IntArrayRef repeats) {
  Repeated r;
  if (!repeated(*self, Dims(repeats.begin(), repeats.end()), &r)) return NotMine{"nothing to copy, or too many dims"};
  if (!copy_elementwise(r.to, r.from)) return kNotCompiled;
  return r.out;
}

}  // namespace shim::cuda
