#include "ops/moves.h"

namespace shim {
namespace {

// Places [0, size) of a dim, each `shift` places on.
Tensor shifted(const Tensor& t, int64_t dim, int64_t shift) {
  const int64_t size = t->sizes()[size_t(dim)], start = ((size - shift % size) % size + size) % size;
  if (start == 0) return t;
  const Tensor next = empty(t->sizes(), t->dtype(), t->device());
  copy_(slice(*next, dim, 0, size - start, 1), slice(*t, dim, start, size, 1));
  copy_(slice(*next, dim, size - start, size, 1), slice(*t, dim, 0, start, 1));
  return next;
}

}  // namespace

Dims channels_last_order(const TensorImpl& t) {
  Dims order;
  if (t.dim() < 4 || suggest_memory_format(t) == MemoryFormat::contiguous) return order;
  for (int64_t d = 0; d < t.dim(); ++d)
    if (d != 1) order.push_back(d);
  order.push_back(1);
  return order;
}

Dims inverse_permutation(IntArrayRef order) {
  Dims inverse(order.begin(), order.end());
  for (size_t i = 0; i < order.size(); ++i) inverse[size_t(order[i])] = int64_t(i);
  return inverse;
}

bool mark_dims(IntArrayRef dims, const TensorImpl& self, bool* marked) {
  if (self.dim() == 0) return false;
  for (int64_t d : dims) {
    if (d < -self.dim() || d >= self.dim() || marked[d < 0 ? d + self.dim() : d]) return false;
    marked[d < 0 ? d + self.dim() : d] = true;
  }
  return true;
}

Outcome<Tensor> roll(const Tensor& self, IntArrayRef shifts, IntArrayRef dims) {
  if (!self->numel()) return NotMine{"empty tensors"};
  if (self->has_math_bits()) return NotMine{"conjugate or negative bits"};
  const bool flat = dims.empty();
  if (shifts.empty() || shifts.size() != (flat ? 1 : dims.size())) return NotMine{"shifts that are not one a dim"};
  const Dims order = flat ? Dims{} : channels_last_order(*self), places = inverse_permutation(order);
  Tensor now = flat ? view(*contiguous(self), Dims{self->numel()}) : order.empty() ? self : permute(*self, order);
  for (size_t i = 0; i < shifts.size(); ++i) {
    int64_t d = flat ? 0 : dims[i];
    if (d < -now->dim() || d >= now->dim()) return NotMine{"a dim out of range"};
    if (d < 0) d += now->dim();
    now = shifted(now, order.empty() ? d : places[size_t(d)], shifts[i]);
  }
  if (flat) now = view(*contiguous(now), self->sizes());
  if (now->data() == self->data()) now = clone(now, MemoryFormat::contiguous);
  return order.empty() ? now : permute(*now, places);
}

}  // namespace shim
