#pragma once
// Pointwise groups on CUDA: each is one kernel, cuda/kernels/fused.cuh, told what to compute by macros.
#include "program/group_on_cuda.h"

namespace shim::program {

class CudaGroup final : public GroupOnCuda {
 public:
  explicit CudaGroup(const Group&);

 private:
  const char* source() const override { return "fused"; }
  const char* entry() const override { return flat_ ? "fused" : "fused_strided"; }
  std::vector<std::string> macros(const Group&, int vector) const override;
  void launch(cuda::CUfunction, GroupMemory&, int vector, int device) const override;
  template <class Strides> void fill(Strides&, int vector) const;
  GroupNest nest_;
  bool flat_ = true, wide_ = false;
  int64_t elements_ = 1;
};

}  // namespace shim::program
