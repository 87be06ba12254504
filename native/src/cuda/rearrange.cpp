#include "cuda/rearrange.h"

#include <algorithm>

#include "cuda/elementwise.h"
#include "cuda/flip.h"
#include "ops/moves.h"

namespace shim::cuda {
namespace {

DType dtype_of_words(size_t bytes) {
  constexpr DType words[] = {DType::u8, DType::u16, DType::u32, DType::u64, DType::c128};
  return words[__builtin_ctz(unsigned(bytes))];
}

}  // namespace

// A copy whose source is read backwards.
Outcome<Tensor> flip(const Tensor& given, IntArrayRef dims) {
  const TensorImpl& self = *given;
  bool turned[kMaxDims] = {};
  if (!mark_dims(dims, self, turned)) return NotMine{"no dims, or dims out of range or given twice"};
  const Dims order = strides_in_order_of(self);
  const bool in_c_order = std::ranges::equal(order, contiguous_strides(self.sizes()));
  if (in_c_order)
    if (const Tensor rows = flip_rows(self, turned)) return rows;
  Tensor out = empty_strided(self.sizes(), order, self.dtype(), self.device());
  if (!self.numel()) return out;
  const DType word = dtype_of_words(self.itemsize());
  Dims strides(self.strides().begin(), self.strides().end());
  char* data = static_cast<char*>(const_cast<void*>(static_cast<const void*>(self.data())));
  for (int d = 0; d < self.dim(); ++d) {
    if (!turned[d]) continue;
    data += (self.sizes()[size_t(d)] - 1) * strides[size_t(d)] * int64_t(self.itemsize());
    strides[size_t(d)] = -strides[size_t(d)];
  }
  Elementwise e{"copy", word, word, 2, {Operand::of(*out), Operand{data, word, self.sizes(), strides}}};
  e.operands[0].dtype = word;
  if (!run_elementwise(e, out->sizes(), self.device().index)) return NotMine{"a kernel that could not be compiled"};
  return out;
}

Outcome<Tensor> rot90(const Tensor& self, int64_t k, IntArrayRef dims) {
  const int64_t n = self->dim(), turns = (k % 4 + 4) % 4;
  if (dims.size() != 2 || dims[0] < -n || dims[0] >= n || dims[1] < -n || dims[1] >= n)
    return NotMine{"dims that PyTorch refuses"};
  const int64_t a = dims[0] < 0 ? dims[0] + n : dims[0], b = dims[1] < 0 ? dims[1] + n : dims[1];
  if (a == b) return NotMine{"dims that PyTorch refuses"};
  if (turns == 0) return NotMine{"no turn"};
  if (turns == 2) return flip(self, Dims{a, b});
  Outcome<Tensor> turned = flip(self, Dims{turns == 1 ? b : a});
  if (!turned) return turned.why();
  Dims order;
  for (int64_t d = 0; d < n; ++d) order.push_back(d == a ? b : d == b ? a : d);
  return permute(**turned, order);
}

Outcome<Tensor> diag_embed(const Tensor& self, int64_t offset, int64_t first, int64_t second) {
  const int64_t dims = self->dim() + 1;
  if (dims < 2) return NotMine{"no dims"};
  if (first < -dims || first >= dims || second < -dims || second >= dims) return NotMine{"a dim out of range"};
  if (self->has_math_bits()) return NotMine{"negative or conjugate bits"};
  if (std::abs(offset) > (int64_t(1) << 30)) return NotMine{"an offset beyond 2**30"};
  first = first < 0 ? first + dims : first;
  second = second < 0 ? second + dims : second;
  if (first == second) return NotMine{"one dim twice"};
  const int64_t side = self->sizes().back() + std::abs(offset);
  Dims shape(self->sizes().begin(), self->sizes().end() - 1);
  for (int64_t d : {std::min(first, second), std::max(first, second)}) shape.insert(shape.begin() + d, side);
  const Tensor out = empty(shape, self->dtype(), self->device());
  fill_(out, Scalar{});
  copy_(diagonal(*out, offset, first, second), self);
  return out;
}

}  // namespace shim::cuda
