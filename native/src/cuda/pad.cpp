#include "cuda/pad.h"

#include <algorithm>

#include "cuda/elementwise.h"
#include "cuda/launch.h"
#include "cuda/reasons.h"
#include "ops/kernels.h"
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
  const CUfunction k = find_kernel(pad_family, "pad", key_of(size, v, wide), device, [&] {
    return std::vector<std::string>{
        std::string("ELEMENT=") + word_type(size), "V=" + std::to_string(v), wide ? "WIDE=1" : "WIDE=0"};
  });
  if (!k) return kNotCompiled;
  const Tensor out = empty(shape, self.dtype(), self.device());
  if (!n) return out;
  alignas(16) char bits[16] = {};
  store_number(bits, self.dtype(), value);
  void* to = out->data();
  const void* from = self.data();
  void* arguments[] = {&to, &from, bits, &n, &f};
  launch(k, ((n + v - 1) / v + 255) / 256, 1, 256, 1, arguments, device);
  return out;
}

Outcome<Tensor> repeat(const Tensor& self, IntArrayRef repeats) {
  Repeated r;
  if (!repeated(*self, Dims(repeats.begin(), repeats.end()), &r)) return NotMine{"nothing to copy, or too many dims"};
  if (!copy_elementwise(r.to, r.from)) return kNotCompiled;
  return r.out;
}

}  // namespace shim::cuda
