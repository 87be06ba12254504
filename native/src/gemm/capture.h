#pragma once
// What cuBLASLt launches for a plan, read from a captured graph that nobody runs.
#include <string>
#include <vector>

#include "gemm/direct.h"

namespace shim::gemm {

class Capture {
 public:
  Capture() = default;
  Capture(const Capture&) = delete;
  ~Capture();

  // The library's launches for one set of buffers after another; empty, or what stands against it.
  std::string record(
      const Plan&, int candidate, const std::vector<GemmBuffers>&, const std::vector<void*>& works, const Scalars&);
  // The kernels of every set, in order. A memory set is one without a function, whose two words are the address and the bytes.
  std::string kernels(std::vector<DirectLaunch::Kernel>& to) const;

 private:
  std::string read_chain();
  std::string read_kernel(size_t index, DirectLaunch::Kernel&) const;
  std::string read_attributes(size_t index, DirectLaunch::Kernel&) const;

  cuda::CUstream stream_ = nullptr;
  cuda::CUgraph graph_ = nullptr;
  std::vector<cuda::CUgraphNode> nodes_;
  std::vector<bool> early_, sets_;  // its start may overlap the end of the one before; it sets memory
};

}  // namespace shim::gemm
