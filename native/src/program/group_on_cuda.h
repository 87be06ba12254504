#pragma once
// A group as one CUDA kernel: pointwise (run_cuda.cpp) or with rows that are reduced (run_cuda_rows.cpp).
#include <map>
#include <memory>

#include "cuda/driver.h"
#include "cuda/kernel_store.h"
#include "program/cuda_nodes.h"
#include "program/nest.h"

namespace shim::program {

class GroupOnCuda {
 public:
  static std::unique_ptr<GroupOnCuda> of(const Group&);
  virtual ~GroupOnCuda() = default;
  // False, with nothing written: the kernel cannot be had (cuda::failed_kernels() says why).
  bool run(const Group&, Storages, std::span<const Scalar> parameters);
  // Its kernel, for accesses of as many elements as the layout lets it have.
  cuda::Specialisation specialisation(const Group& g) const {
    return cuda::Specialisation::of(source(), macros(g, vector_));
  }

 protected:
  struct Place {
    int32_t storage;
    int64_t bytes, size;      // offset; of an element
    bool in_vectors = false;  // accessed so
  };
  virtual const char* source() const = 0;
  virtual const char* entry() const { return source(); }
  // Of the kernel for accesses of so many elements.
  virtual std::vector<std::string> macros(const Group&, int vector) const = 0;
  virtual void launch(cuda::CUfunction, GroupMemory&, int vector, int device) const = 0;

  std::vector<Place> loads_, stores_;
  size_t dims_ = 0;  // that the kernel steps along
  int vector_ = 1;   // elements of an access

 private:
  std::map<std::pair<int, int>, cuda::CUfunction> functions_;  // by device and vector
};

bool computed_on_cuda(const Group&);  // CUDA has all that its nodes ask for
// The compiler's words on the program's kernels, empty when all compile: needs NVRTC and no GPU.
std::string compile_group(const Group&, int architecture);

}  // namespace shim::program
