// Filling memory: with one number, or with a range of numbers.
#include <algorithm>
#include <cstring>

#include "core/lazy_clone.h"
#include "core/math_bits.h"
#include "cpu/copy_bits.h"
#include "cpu/creation.h"
#include "cpu/kernel_table.h"
#include "cpu/loops.h"
#include "cpu/parallel.h"
#include "ops/device_copy.h"
#include "ops/kernels.h"

namespace shim {

namespace {

void convert(void* context, char* const* data, const int64_t* steps, int64_t n) {
  (*static_cast<const Conversion*>(context))(data[1], steps[1], data[0], steps[0], n);
}

template <class T> SHIM_MATH_CLONES void fill_words(T value, T* to, int64_t n) {
  for (int64_t i = 0; i < n; ++i) to[i] = value;
}
template <class T> void fill_as(const void* element, void* to, int64_t n) {
  T value;
  std::memcpy(&value, element, sizeof(T));
  fill_words(value, static_cast<T*>(to), n);
}

// Elements of a block are counted in 32 bits, which every processor converts in vectors.
template <class T> SHIM_CLONES void range_words(double first, double step, T* to, int64_t begin, int64_t end) {
  for (int64_t at = begin; at < end; at += 1024) {
    const int32_t n = int32_t(std::min<int64_t>(1024, end - at));
    if constexpr (std::is_integral_v<T>) {
      const T base = T(int64_t(first) + int64_t(step) * at), by = T(int64_t(step));
      for (int32_t k = 0; k < n; ++k) to[at + k] = T(base + by * T(k));
    } else {
      const double base = double(at);
      for (int32_t k = 0; k < n; ++k) to[at + k] = T((base + double(k)) * step + first);
    }
  }
}

}  // namespace

void fill_range(const Tensor& out, double first, double step) {
  auto run = [&]<class T>(T* to) {
    parallel_for(out->numel(), kGrain, [&](int64_t begin, int64_t end) { range_words(first, step, to, begin, end); });
  };
  switch (out->dtype()) {
    case DType::i32: return run(out->data_as<int32_t>());
    case DType::i64: return run(out->data_as<int64_t>());
    case DType::f32: return run(out->data_as<float>());
    default: return run(out->data_as<double>());
  }
}

void fill_packed(const void* element, void* to, size_t size, int64_t n) {
  auto* bytes = static_cast<const unsigned char*>(element);
  if (size == 1 || std::all_of(bytes, bytes + size, [&](unsigned char b) { return b == bytes[0]; })) {
    std::memset(to, bytes[0], size_t(n) * size);
  } else if (size == 2) {
    fill_as<uint16_t>(element, to, n);
  } else if (size == 4) {
    fill_as<uint32_t>(element, to, n);
  } else if (size == 8) {
    fill_as<uint64_t>(element, to, n);
  } else {
    for (int64_t i = 0; i < n; ++i) std::memcpy(static_cast<char*>(to) + size_t(i) * size, element, size);
  }
}

void fill_(const Tensor& self, Scalar value) {
  check_fits(value, self->dtype());
  own_data(*self->storage());
  value = number_in_memory(*self, value);
  if (self->numel() == 0 || self->device().is_meta()) return;
  if (!self->device().is_cpu()) {
    if (fill_on_device(self, value)) return;
    Tensor one = scalar_tensor(value, self->dtype(), Device{});
    return copy_(self->has_math_bits() ? without_math_bits(*self) : self, one);
  }
  alignas(16) char element[16];
  store_number(element, self->dtype(), value);
  Operand operands[2] = {Operand::of(*self), {element, self->dtype(), {}, {}}};
  run_nest(
      make_nest(self->sizes(), operands, 2), convert, const_cast<Conversion*>(converter(self->dtype(), self->dtype())));
}

}  // namespace shim
