#pragma once
// Copies and fills as the operators are called, on any device and from one to another.
#include "core/sparse.h"
#include "ops/kernel.h"

namespace shim {

const Tensor& copy_operator_(const Tensor& self, const Tensor& src, bool non_blocking);
const Tensor& fill_operator_(const Tensor& self, Scalar value);
const Tensor& zero_operator_(const Tensor& self);
Outcome<Tensor> clone_operator(const Tensor& self, std::optional<MemoryFormat>);
Tensor to_copy(const Tensor& self, std::optional<DType>, Ignored layout, std::optional<Device>,
    std::optional<bool> pin_memory, bool non_blocking, std::optional<MemoryFormat>);

// self where nothing changes. Here for the calls that take less time than two more of functions do.
inline Outcome<const Tensor&> as_it_is(PlainTensor self, DType dtype, Device device, bool copy) {
  if (copy) return NotMine{"a copy that was asked for"};
  if (dtype != self->dtype() || device != self->device()) return NotMine{"another dtype or device"};
  return *self;
}

inline Outcome<const Tensor&> to_device(PlainTensor self, std::optional<Device> device, std::optional<DType> dtype,
    Ignored /*non_blocking*/, bool copy, std::nullopt_t /*memory_format*/) {
  Device where = device.value_or(self->device());
  if (where.is_cpu()) where.index = self->device().index;
  return as_it_is(self, dtype.value_or(self->dtype()), where, copy);
}

inline Outcome<const Tensor&> to_dtype_operator(
    PlainTensor self, DType dtype, Ignored /*non_blocking*/, bool copy, std::nullopt_t /*memory_format*/) {
  return as_it_is(self, dtype, self->device(), copy);
}

inline Outcome<const Tensor&> to_other(
    PlainTensor self, PlainTensor other, Ignored /*non_blocking*/, bool copy, std::nullopt_t /*memory_format*/) {
  return as_it_is(self, other->dtype(), other->device(), copy);
}

inline Outcome<const Tensor&> contiguous_operator(PlainTensor self, MemoryFormat format) {
  if (format != MemoryFormat::contiguous) return NotMine{"another memory format"};
  if (is_sparse(*self.tensor)) return NotMine{"a sparse tensor"};
  if (!self->is_contiguous()) return NotMine{"a tensor that is not contiguous"};
  return *self;
}

}  // namespace shim
