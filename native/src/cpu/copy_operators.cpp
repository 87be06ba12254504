#include "cpu/copy_operators.h"

#include "cpu/loops.h"
#include "ops/placed.h"

namespace shim {
namespace {

const char* layout_word(Layout layout) {
  switch (layout) {
    case Layout::strided: return "Strided";
    case Layout::sparse_coo: return "Sparse";
    case Layout::sparse_csr: return "SparseCsr";
    case Layout::sparse_csc: return "SparseCsc";
    case Layout::sparse_bsr: return "SparseBsr";
    case Layout::sparse_bsc: return "SparseBsc";
  }
  return "";
}

Outcome<const Tensor&> as_it_is(PlainTensor self, DType dtype, Device device, bool copy) {
  if (copy) return NotMine{"a copy that was asked for"};
  if (dtype != self->dtype() || device != self->device()) return NotMine{"another dtype or device"};
  return *self;
}

}  // namespace

const Tensor& copy_operator_(const Tensor& self, const Tensor& src, bool non_blocking) {
  copy_(self, src, non_blocking);
  return self;
}

const Tensor& fill_operator_(const Tensor& self, Scalar value) {
  fill_(self, value);
  return self;
}

const Tensor& zero_operator_(const Tensor& self) {
  fill_(self, Scalar{Scalar::Int, 0});
  return self;
}

Outcome<Tensor> clone_operator(const Tensor& self, std::optional<MemoryFormat> format) {
  if (self->device().is_meta()) return NotMine{"a meta tensor"};
  return clone(self, format.value_or(MemoryFormat::preserve));
}

Tensor to_copy(const Tensor& self, std::optional<DType> dtype, std::optional<Layout> layout,
    std::optional<Device> device, std::optional<bool> pin_memory, bool non_blocking,
    std::optional<MemoryFormat> memory_format) {
  CHECK(Kind::Runtime, !layout || *layout == Layout::strided,
      "to(options) doesn't support converting to a different layout, but got self.layout being Strided and "
      "options.layout "
      "set as ",
      layout_word(*layout));
  const DType to = dtype.value_or(self->dtype());
  const Device where = device ? placed(*device) : self->device();
  const bool pinned = pin_memory.value_or(false);
  const MemoryFormat format = memory_format.value_or(MemoryFormat::preserve);
  const bool preserves = format == MemoryFormat::preserve;
  if (preserves && where == self->device() && where.is_cpu() && !pinned) return to_dtype(self, to);
  CHECK(Kind::NotImplemented, where.is_meta() || !self->device().is_meta(), "Cannot copy out of meta tensor; no data!");
  const Dims strides(self->strides().begin(), self->strides().end());
  Tensor out = preserves ? empty_strided(self->sizes(),
                               dense(*self) ? strides : dense_strides(self->sizes(), {&strides, 1}), to, where, pinned)
                         : empty(self->sizes(), to, where, pinned, format);
  copy_(out, self, non_blocking);
  return out;
}

Outcome<const Tensor&> to_device(
    PlainTensor self, std::optional<Device> device, std::optional<DType> dtype, Ignored, bool copy, std::nullopt_t) {
  Device where = device.value_or(self->device());
  if (where.is_cpu()) where.index = self->device().index;
  return as_it_is(self, dtype.value_or(self->dtype()), where, copy);
}

Outcome<const Tensor&> to_dtype_operator(PlainTensor self, DType dtype, Ignored, bool copy, std::nullopt_t) {
  return as_it_is(self, dtype, self->device(), copy);
}

Outcome<const Tensor&> to_other(PlainTensor self, PlainTensor other, Ignored, bool copy, std::nullopt_t) {
  return as_it_is(self, other->dtype(), other->device(), copy);
}

Outcome<const Tensor&> contiguous_operator(PlainTensor self, MemoryFormat format) {
  if (format != MemoryFormat::contiguous) return NotMine{"another memory format"};
  if (is_sparse(*self.tensor)) return NotMine{"a sparse tensor"};
  if (!self->is_contiguous()) return NotMine{"a tensor that is not contiguous"};
  return *self;
}

}  // namespace shim
