// Copies where a tensor is not in the CPU's memory: to a device, from it, on it and between two.
#include <cstring>

#include "cpu/copy.h"
#include "cpu/loops.h"
#include "cuda/driver.h"
#include "cuda/elementwise.h"
#include "ops/device_copy.h"
#include "ops/kernels.h"

namespace shim {

void (*copy_on_device)(const Tensor& self, const Tensor& src) = nullptr;

void copy_across(const Tensor& self, const Tensor& src, bool non_blocking) {
  CHECK(Kind::NotImplemented, !src->device().is_meta(), "Cannot copy out of meta tensor; no data!");
  const bool from_cpu = src->device().is_cpu(), to_cpu = self->device().is_cpu();
  if (!from_cpu && !to_cpu && (self->device() == src->device()) &&
      !(self->dtype() == src->dtype() && same_layout(*self, *src))) {
    if (overlap(*self, *src)) {  // other elements would be read after they are written
      Tensor apart = empty(src->sizes(), src->dtype(), src->device());
      copy_across(apart, src, true);
      return copy_across(self, apart, true);
    }
    if (cuda::copy_elementwise(self, src)) return;
    CHECK(Kind::NotImplemented, copy_on_device, "copy_: strided or casting copies on ", to_string(self->device()),
        " need CuPy");
    return copy_on_device(self, src);
  }
  if (self->dtype() == src->dtype() && same_layout(*self, *src)) {
    CHECK(Kind::NotImplemented, Storage::copy_device, "copy_: no CUDA driver is loaded");
    const size_t bytes = size_t(self->numel()) * self->itemsize();
    if (!from_cpu && !to_cpu && self->device() != src->device())
      return cuda::copy_between(self->data(), self->device().index, src->data(), src->device().index, bytes);
    Device where = to_cpu ? src->device() : self->device();
    Storage::copy_device(self->data(), src->data(), bytes, where);
    // The driver may still read host memory after the call, always where it is pinned and at times where it is not: who did
    // not ask for that may change or free it now.
    if ((from_cpu || to_cpu) && !non_blocking) cuda::synchronize_stream(where.index, cuda::current_stream(where.index));
    return;
  }
  // Cast and spread on the host side of a transfer, or on the device when only its tensor is strided.
  if (from_cpu) {
    Tensor host = empty(self->sizes(), self->dtype(), src->device());
    copy_cpu(*host, *src);
    if (self->is_contiguous()) return copy_across(self, host, false);
    Tensor there = empty(self->sizes(), self->dtype(), self->device());
    copy_across(there, host, false);
    return copy_across(self, there, false);
  }
  Tensor packed = src;
  if (!src->is_contiguous()) {
    packed = empty(src->sizes(), src->dtype(), src->device());
    copy_across(packed, src, false);
  }
  Tensor moved = empty(src->sizes(), src->dtype(), self->device());
  copy_across(moved, packed, false);
  copy_(self, moved);
}

// Elements that the driver's memset can write: 1, 2 or 4 bytes, or 8 and 16 whose words are all the same. Others by a kernel, where that
// pays its compilation.
bool fill_on_device(const Tensor& self, Scalar value) {
  constexpr int64_t kWorthKernel = 1 << 16;
  alignas(16) unsigned char element[16];
  store_number(element, self->dtype(), value);
  int size = int(self->itemsize());
  int64_t count = self->numel();
  bool plain = dense(*self);
  for (int i = 4; i < size; i += 4) plain = plain && std::memcmp(element, element + i, 4) == 0;
  if (!plain) return count * size >= kWorthKernel && cuda::fill_elementwise(self, element);
  if (size > 4) {
    count *= size / 4;
    size = 4;
  }
  cuda::fill_bytes(
      self->data(), element, size, size_t(count), self->device().index, cuda::current_stream(self->device().index));
  return true;
}

}  // namespace shim
