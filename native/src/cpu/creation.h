#pragma once
// New tensors: ranges on the CPU; empty ones, and tensors like another one, on any device.
#include "core/sparse.h"
#include "ops/kernel.h"

namespace shim {

// start, start + step ... before `end`: int64 of ints, the default dtype of floats, or int32, int64, float32, float64 as asked.
Outcome<Tensor> arange(IntOrFloat start, IntOrFloat end, IntOrFloat step, std::optional<DType>, Ignored layout,
    std::optional<Device>, std::optional<bool> pin_memory);
// Integers, float32 or float64, computed from both ends to the middle.
Outcome<Tensor> linspace(Scalar start, Scalar end, int64_t steps, std::optional<DType>, Ignored layout,
    std::optional<Device>, std::optional<bool> pin_memory);
Outcome<Tensor> empty_operator(IntArrayRef size, std::optional<DType>, std::optional<Layout>, std::optional<Device>,
    std::optional<bool> pin_memory, std::optional<MemoryFormat>);
Outcome<Tensor> zeros(IntArrayRef size, std::optional<DType>, std::optional<Layout>, std::optional<Device>,
    std::optional<bool> pin_memory);
Outcome<Tensor> ones(IntArrayRef size, std::optional<DType>, std::optional<Layout>, std::optional<Device>,
    std::optional<bool> pin_memory);
Outcome<Tensor> empty_like(const Tensor& self, std::optional<DType>, std::nullopt_t layout, std::optional<Device>,
    std::optional<bool> pin_memory, std::optional<MemoryFormat>);
Outcome<Tensor> zeros_like(const Tensor& self, std::optional<DType>, std::nullopt_t layout, std::optional<Device>,
    std::optional<bool> pin_memory, std::optional<MemoryFormat>);
Outcome<Tensor> ones_like(const Tensor& self, std::optional<DType>, std::nullopt_t layout, std::optional<Device>,
    std::optional<bool> pin_memory, std::optional<MemoryFormat>);

// first, first + step, first + 2 step ... of a contiguous tensor of float32, float64, int32 or int64 on the CPU. For integers both are
// integral, and all values below 2^53 in magnitude.
void fill_range(const Tensor& out, double first, double step);

}  // namespace shim
