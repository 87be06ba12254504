#include "cuda/flip.h"

#include "cuda/entries/flip.h"

namespace shim::cuda {
namespace {

constexpr int kOuter = 8;
constexpr int64_t kPacks = 512;  // of one block

const Family flip_family{"flip"};

struct Outer {
  int64_t size[kOuter] = {}, step[kOuter] = {};
  int dims = 0;
};

}  // namespace

Tensor flip_rows(const TensorImpl& self, const bool* turned) {
  const int last = self.dim() - 1;
  if (!kernels_ready() || last < 0 || !turned[last] || self.strides()[size_t(last)] != 1 || !self.numel()) return {};
  const int64_t size = int64_t(self.itemsize());
  int64_t n = self.sizes()[size_t(last)], start = 0;
  Outer g;
  for (int d = last - 1; d >= 0; --d) {
    const int64_t count = self.sizes()[size_t(d)], stride = self.strides()[size_t(d)],
                  step = turned[d] ? -stride : stride;
    if (count == 1) continue;
    if (turned[d]) start += (count - 1) * stride;
    if (g.dims && g.size[g.dims - 1] * g.step[g.dims - 1] == step) {
      g.size[g.dims - 1] *= count;
      continue;
    }
    if (g.dims == kOuter) return {};
    g.size[g.dims] = count;
    g.step[g.dims++] = step;
  }
  int v = vector_of(self.data(), self.itemsize());
  const auto whole = [&] {
    bool fits = n % v == 0;
    for (int d = 0; d < g.dims; ++d) fits = fits && g.step[d] % v == 0;
    return fits;
  };
  while (v > 1 && !whole()) v /= 2;
  if (v == 1 || n / v >= int64_t(1) << 31) return {};
  const int device = self.device().index;
  const auto f = find_kernel<entries::flip::flip>(flip_family, key_of(size, v), device,
      [&] { return std::vector<std::string>{std::string("ELEMENT=") + word_type(size), "V=" + std::to_string(v)}; });
  const int64_t packs = self.numel() / v;
  if (!f || (packs + kPacks - 1) / kPacks > kMostBlocks) return {};
  Tensor out = empty(self.sizes(), self.dtype(), self.device());
  const void* from = static_cast<const char*>(self.data()) + start * size;
  launch(f, {(packs + kPacks - 1) / kPacks}, device, out->data(), from, packs, n, g);
  return out;
}

}  // namespace shim::cuda
