#pragma once
// Groups that reduce rows on CUDA: each is one kernel, cuda/kernels/fused_rows.cuh.
#include "program/group_on_cuda.h"

namespace shim::program {

class CudaRows final : public GroupOnCuda {
 public:
  explicit CudaRows(const Group&);

 private:
  struct Steps {                 // bytes
    std::vector<int64_t> outer;  // along the dims before the last, innermost first, joined
    int64_t along = 0;           // the last
  };
  const char* source() const override { return "fused_rows"; }
  std::vector<std::string> macros(const Group&, int vector) const override;
  void launch(cuda::CUfunction, GroupMemory&, int vector, int device) const override;
  void place(const TensorRef&, size_t dims, std::vector<Place>&, std::vector<Steps>&);
  void join_dims(const Dims& shape);
  void choose_vector();
  void choose_threads();
  template <class Rows> void fill(Rows&) const;
  std::vector<Steps> load_steps_, store_steps_;
  std::vector<int64_t> outer_;  // sizes, as Steps::outer
  int64_t rows_ = 1, columns_ = 1;
  int threads_ = 256;
  bool warp_ = false;  // a row
};

}  // namespace shim::program
