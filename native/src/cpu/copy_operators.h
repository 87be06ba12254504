#pragma once
// Copies and fills as the operators are called, on any device and from one to another.
#include "core/sparse.h"
#include "ops/kernel.h"

namespace shim {

const Tensor& copy_operator_(const Tensor& self, const Tensor& src, bool non_blocking);
const Tensor& fill_operator_(const Tensor& self, Scalar value);
const Tensor& zero_operator_(const Tensor& self);
Outcome<Tensor> clone_operator(const Tensor& self, std::optional<MemoryFormat>);
Tensor to_copy(const Tensor& self, std::optional<DType>, std::optional<Layout>, std::optional<Device>,
    std::optional<bool> pin_memory, bool non_blocking, std::optional<MemoryFormat>);
// self where nothing changes. (A layout or a copy that was asked for is another matter.)
Outcome<const Tensor&> to_device(PlainTensor self, std::optional<Device>, std::optional<DType>, Ignored non_blocking,
    bool copy, std::nullopt_t memory_format);
Outcome<const Tensor&> to_dtype_operator(
    PlainTensor self, DType, Ignored non_blocking, bool copy, std::nullopt_t memory_format);
Outcome<const Tensor&> to_other(
    PlainTensor self, PlainTensor other, Ignored non_blocking, bool copy, std::nullopt_t memory_format);
Outcome<const Tensor&> contiguous_operator(PlainTensor self, MemoryFormat);

}  // namespace shim
