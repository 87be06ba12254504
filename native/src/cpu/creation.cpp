#include "cpu/creation.h"

#include <cmath>

#include "core/uninitialized.h"
#include "cpu/loops.h"
#include "ops/integer_range.h"
#include "ops/placed.h"
#include "cpu/spacing.h"

namespace shim {
namespace {

constexpr NotMine kPinned{"pinned memory"}, kToFill{"memory that is to be filled"};

Outcome<Tensor> float_range(double start, double end, double step, DType t) {
  if (step == 0 || (end - start) * step < 0) return NotMine{"a step away from the end, which PyTorch refuses"};
  const double count = std::ceil((end - start) / step);
  if (t != DType::f32 && t != DType::f64)
    return NotMine{"a range over floats in another dtype than float32 and float64"};
  if (!(count < 0x1p53)) return NotMine{"a range of 2**53 elements"};
  const int64_t size = int64_t(count);
  Tensor out = empty(IntArrayRef(&size, 1), t, Device{});
  fill_range(out, start, step);
  return out;
}

// empty_like, filled with `value` where there is one.
[[gnu::always_inline]] inline Outcome<Tensor> made_like(const Tensor& self, std::optional<DType> dtype,
    std::optional<Device> device, std::optional<bool> pin_memory, std::optional<MemoryFormat> memory_format,
    const Scalar* value) {
  if (fill_uninitialized && !value) return kToFill;
  if (pin_memory.value_or(false)) return kPinned;
  const MemoryFormat format = memory_format.value_or(MemoryFormat::preserve);
  const bool keep = format == MemoryFormat::preserve;
  if (keep && !dense(*self)) return NotMine{"strides with gaps or overlaps"};
  const DType t = dtype.value_or(self->dtype());
  const Device where = device ? placed(*device) : self->device();
  Tensor out =
      keep ? empty_strided(self->sizes(), self->strides(), t, where) : empty(self->sizes(), t, where, false, format);
  if (value) fill_(out, *value);
  return out;
}

Tensor made(IntArrayRef size, std::optional<DType> dtype, std::optional<Device> device, std::optional<bool> pin_memory,
    MemoryFormat format) {
  Device where = device.value_or(Device{});
  if (where.is_cpu()) where.index = -1;
  return empty(size, dtype.value_or(default_dtype()), where, pin_memory.value_or(false), format);
}

template <class T> void spaced(const TensorImpl& out, const Spacing<T>& by) {
  const int64_t steps = out.numel();
  T* to = out.data_as<T>();
  for (int64_t i = 0; i < steps; ++i) to[i] = by.at(i, steps);
}

}  // namespace

Outcome<Tensor> arange(IntOrFloat start, IntOrFloat end, IntOrFloat step, std::optional<DType> dtype, Ignored,
    std::optional<Device>, std::optional<bool> pin_memory) {
  if (pin_memory.value_or(false)) return kPinned;
  if (!start.floating && !end.floating && !step.floating) {
    Outcome<IntegerRange> range = integer_range(start, end, step, dtype);
    if (!range) return range.why();
    Tensor out = empty(IntArrayRef(&range->size, 1), range->dtype, Device{});
    fill_range(out, double(range->start), double(range->step));
    return out;
  }
  for (const IntOrFloat& number : {start, end, step}) {
    if (!number.floating && !fits_double(number.i)) return NotMine{"an integer that no double holds"};
    if (number.floating && !std::isfinite(number.f)) return NotMine{"an infinite range"};
  }
  return float_range(start.to_double(), end.to_double(), step.to_double(), dtype.value_or(default_dtype()));
}

Outcome<Tensor> linspace(Scalar start, Scalar end, int64_t steps, std::optional<DType> dtype, Ignored,
    std::optional<Device>, std::optional<bool> pin_memory) {
  if (pin_memory.value_or(false)) return kPinned;
  if (steps < 2 || steps >= kIntsOfDoubles) return NotMine{"fewer than two steps"};
  if (start.type == Scalar::Complex || end.type == Scalar::Complex) return NotMine{"complex ends"};
  const DType t = dtype.value_or(default_dtype());
  if (start.big || end.big) return NotMine{"ends of 2**63 or more"};
  const auto run = [&]<class T>() -> Outcome<Tensor> {
    const Spacing<T> by = spacing_of<T>(start, end, steps, t);
    Tensor out = empty(IntArrayRef(&steps, 1), t, Device{});
    spaced<T>(*out, by);
    return out;
  };
  return for_spaced_dtype<Outcome<Tensor>>(t, run, NotMine{"another dtype than an integer and a float"});
}

Outcome<Tensor> empty_operator(IntArrayRef size, std::optional<DType> dtype, std::optional<Layout> layout,
    std::optional<Device> device, std::optional<bool> pin_memory, std::optional<MemoryFormat> format) {
  if (layout.value_or(Layout::strided) != Layout::strided) return NotMine{"a sparse layout"};
  CHECK(Kind::Runtime, format != MemoryFormat::preserve, "unsupported memory format Preserve");
  if (fill_uninitialized) return kToFill;
  return made(size, dtype, device, pin_memory, format.value_or(MemoryFormat::contiguous));
}

namespace {

Outcome<Tensor> filled(IntArrayRef size, std::optional<DType> dtype, std::optional<Layout> layout,
    std::optional<Device> device, std::optional<bool> pin_memory, int64_t value) {
  if (layout.value_or(Layout::strided) != Layout::strided) return NotMine{"a sparse layout"};
  Tensor out = made(size, dtype, device, pin_memory, MemoryFormat::contiguous);
  fill_(out, Scalar{Scalar::Int, value});
  return out;
}

}  // namespace

Outcome<Tensor> zeros(IntArrayRef size, std::optional<DType> dtype, std::optional<Layout> layout,
    std::optional<Device> device, std::optional<bool> pin_memory) {
  return filled(size, dtype, layout, device, pin_memory, 0);
}

Outcome<Tensor> ones(IntArrayRef size, std::optional<DType> dtype, std::optional<Layout> layout,
    std::optional<Device> device, std::optional<bool> pin_memory) {
  return filled(size, dtype, layout, device, pin_memory, 1);
}

Outcome<Tensor> empty_like(const Tensor& self, std::optional<DType> dtype, std::nullopt_t, std::optional<Device> device,
    std::optional<bool> pin_memory, std::optional<MemoryFormat> format) {
  return made_like(self, dtype, device, pin_memory, format, nullptr);
}

Outcome<Tensor> zeros_like(const Tensor& self, std::optional<DType> dtype, std::nullopt_t, std::optional<Device> device,
    std::optional<bool> pin_memory, std::optional<MemoryFormat> format) {
  const Scalar zero{Scalar::Int, 0};
  return made_like(self, dtype, device, pin_memory, format, &zero);
}

Outcome<Tensor> ones_like(const Tensor& self, std::optional<DType> dtype, std::nullopt_t, std::optional<Device> device,
    std::optional<bool> pin_memory, std::optional<MemoryFormat> format) {
  const Scalar one{Scalar::Int, 1};
  return made_like(self, dtype, device, pin_memory, format, &one);
}

}  // namespace shim
