#pragma once
// The bytes that tell which compiled kernel a call of a Triton kernel needs. They may tell more apart than Triton does, never less.
#include <cstring>
#include <string_view>

#include "ops/value.h"

namespace shim::cuda {

// Whether its address is a multiple of 16, which kernels are compiled for. Memory that is hidden will be, as all of our allocators is.
bool lies_aligned(const TensorImpl&);

// Each gives false for what stock Triton must see.
class LaunchKey {
 public:
  bool device(int index) { return put(index); }
  bool option(std::string_view name, const Value&);
  // By value where that is what Triton compares; by identity for what is made once (tl.float32, functions).
  bool constant(const Value&);
  // An argument at run time: what Triton specializes a kernel by.
  bool argument(const Value&);
  std::string_view bytes() const { return {bytes_, used_}; }

 private:
  bool put(const void* data, size_t n) {  // here, so that numbers are stored without a call
    if (used_ + n > sizeof bytes_) return false;
    std::memcpy(bytes_ + used_, data, n);
    used_ += n;
    return true;
  }
  template <class T> bool put(T value) { return put(&value, sizeof value); }

  size_t used_ = 0;
  char bytes_[2048];
};

}  // namespace shim::cuda
