#pragma once
// Groups on CUDA: each is one kernel, cuda/kernels/fused.cuh, told what to compute by macros.
#include <map>

#include "cuda/driver.h"
#include "cuda/kernel_store.h"
#include "program/nest.h"

namespace shim::program {

class CudaGroup {
 public:
  explicit CudaGroup(const Group&);
  // False, with nothing written: the kernel cannot be had (cuda::failed_kernels() says why).
  bool run(const Group&, Storages, std::span<const Scalar> parameters);
  // The macros of the kernel for accesses of so many elements; as many as the layout lets it have: vector().
  std::vector<std::string> macros(const Group&, int vector) const;
  int vector() const { return vector_; }
  const char* entry() const { return flat_ ? "fused" : "fused_strided"; }

 private:
  struct Place {
    int32_t storage;
    int64_t bytes;            // offset
    bool aligned_to = false;  // accessed in vectors
    int64_t size;
  };
  template <class Strides> void fill(Strides&, int vector) const;
  GroupNest nest_;
  std::vector<Place> loads_, stores_;
  bool flat_ = true, wide_ = false;
  int vector_ = 1;
  int64_t elements_ = 1;
  std::map<std::pair<int, int>, cuda::CUfunction> functions_;  // by device and vector
};

bool computed_on_cuda(const Group&);                   // CUDA has all that its nodes ask for
cuda::Specialisation specialisation_of(const Group&);  // its kernel, for accesses of as many elements as can be
// The compiler's words on the program's kernels, empty when all compile: needs NVRTC and no GPU.
std::string compile_group(const Group&, int architecture);

}  // namespace shim::program
