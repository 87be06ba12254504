#pragma once
// A settled plan without the library's host code: the kernels that cublasLtMatmul launches for it, their parameters with this
// call's pointers put in, and cuLaunchKernelEx. Captures show what the library launches for three sets of pointers; a plan
// is served so only if every word that differs between them is one of the operands and a constant, and if a run gives the
// library's own bits.
#include <array>
#include <memory>
#include <string>
#include <vector>

#include "cuda/driver.h"
#include "ops/gemm_problem.h"

namespace shim::gemm {

struct Plan;
struct Scalars;

class DirectLaunch {
 public:
  enum Operand : uint8_t { a, b, d, bias, aux, scale_a, scale_b, work, kOperands };
  static constexpr size_t kMostBytes = 4096, kMostParameters = 48, kMostAttributes = 6;

  struct Patch {
    uint16_t offset;
    uint8_t operand;
    uint64_t add;
  };  // the word there is the operand's address plus this
  struct Kernel {
    cuda::CUfunction function = nullptr;
    unsigned grid[3] = {}, block[3] = {}, shared_bytes = 0;
    std::vector<uint16_t> offsets;  // of the parameters; none: they are given packed, as `size` bytes
    size_t size = 0;
    std::vector<unsigned char> bytes;  // their values, whole words
    std::vector<Patch> patches;
    std::vector<cuda::LaunchAttribute> attributes;
  };

  // Null: `why` says what cannot be explained, or did not give the same bits. Waits for the stream, which is not captured.
  static std::unique_ptr<DirectLaunch> make(
      const Plan&, int candidate, const GemmBuffers&, const Scalars&, void* work, cuda::CUstream, std::string& why);
  // Zeros made once for many launches are none for a graph, which is run again and again.
  bool may_run(cuda::CUstream stream) const { return !zero_bytes_ || !cuda::capturing(stream); }
  bool run(const GemmBuffers&, void* work, cuda::CUstream) const;  // false: refused
  std::string text() const;

 private:
  explicit DirectLaunch(int device) : device_(device) {}
  std::string explain(const std::vector<Kernel>& all, const std::vector<std::array<uint64_t, kOperands>>& sets);
  std::string replace_zeroing();

  int device_;
  std::vector<Kernel> kernels_;
  uint64_t zero_from_ = 0, zero_bytes_ = 0;  // within the workspace, what the kernels find zero
};

}  // namespace shim::gemm
