#pragma once
// Pointwise groups on CUDA: each is one kernel, cuda/kernels/fused.cuh, told what to compute by macros.
#include "program/group_on_cuda.h"

namespace shim::program {

class CudaGroup final : public GroupOnCuda {
 public:
  explicit CudaGroup(const Group&);

 private:
  const char* source() const override { return "fused"; }
  const char* entry() const override { return columns_ ? "fused_columns" : flat_ ? "fused" : "fused_strided"; }
  std::vector<std::string> macros(const Group&, int vector) const override;
  void launch(cuda::CUfunction, GroupMemory&, int vector, int device) const override;
  int64_t columns_of(const Group&) const;
  template <class Strides> void fill(Strides&, int vector) const;
  GroupNest nest_;
  bool flat_ = true, wide_ = false;
  int64_t elements_ = 1;
  int64_t columns_ =
      0;  // that an operand has one element each of, along the innermost dim, where all others are dense; else 0
};

}  // namespace shim::program
