#include "cuda/planes.h"

#include <algorithm>

#include "ops/kernels.h"

namespace shim::cuda {

bool numbers_of(IntArrayRef given, int n, int64_t least, Dims* to) {
  to->assign(given.begin(), given.end());
  if (to->size() == 1) to->resize(size_t(n), to->front());
  return to->size() == size_t(n) && std::ranges::all_of(*to, [&](int64_t v) { return v >= least && v < kMostSide; });
}

Tensor in_format_of(const Tensor& t, const Tensor& like) {
  const MemoryFormat format = suggest_memory_format(*like);
  return format == MemoryFormat::contiguous ? t : clone(t, format);
}

Tensor as_planes(const Tensor& x, int n, Sides* s) {
  if (x->dim() < n + 1 || x->dim() > n + 2 || x->numel() > INT32_MAX) return {};
  Dims sizes(4, 1);
  for (int i = 0; i < n; ++i) sizes[size_t(4 - n + i)] = x->sizes()[size_t(x->dim() - n + i)];
  sizes[0] = x->numel() / (sizes[1] * sizes[2] * sizes[3]);
  for (size_t d = 0; d < 3; ++d) s->of[d].size = s->of[d].out = int(sizes[d + 1]);
  return view(*contiguous(x), sizes);
}

Tensor as_planes_of_channels(const Tensor& x, int n, Sides* s) {
  if (n != 2 || x->dim() != 4 || x->numel() > INT32_MAX || !x->is_contiguous(MemoryFormat::channels_last) ||
      suggest_memory_format(*x) != MemoryFormat::channels_last)
    return {};
  const IntArrayRef of = x->sizes();
  for (size_t d : {1, 2}) s->of[d].size = s->of[d].out = int(of[d + 1]);
  const Dims sizes{of[0], 1, of[2], of[3], of[1]};
  return make<TensorImpl>(x->storage(), x->dtype(), sizes, contiguous_strides(sizes), x->storage_offset());
}

Outcome<Tensor> planes_back(Outcome<Tensor> out, const Tensor& x, int n) {
  if (!out) return out.why();
  if ((*out)->dim() == 5) {
    const IntArrayRef of = (*out)->sizes();
    const Dims sizes{of[0], of[4], of[2], of[3]};
    return Tensor(make<TensorImpl>((*out)->storage(), (*out)->dtype(), sizes, channels_last_strides(sizes), 0));
  }
  Dims sizes(x->sizes().begin(), x->sizes().end());
  for (int i = 0; i < n; ++i) sizes[sizes.size() - size_t(n) + size_t(i)] = (*out)->sizes()[size_t(4 - n + i)];
  return in_format_of(view(**out, sizes), x);
}

}  // namespace shim::cuda
