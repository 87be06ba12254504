#pragma once
// Groups that reduce rows on CUDA: each is one kernel, cuda/kernels/fused_rows.cuh.
#include <map>

#include "cuda/driver.h"
#include "program/nest.h"

namespace shim::program {

class CudaRows {
 public:
  explicit CudaRows(const Group&);
  // False, with nothing written: the kernel cannot be had (cuda::failed_kernels() says why).
  bool run(const Group&, Storages, std::span<const Scalar> parameters);
  std::vector<std::string> macros(const Group&, int vector) const;
  int vector() const { return vector_; }

 private:
  struct Place {
    int32_t storage;
    int64_t bytes, size;         // offset; of an element
    std::vector<int64_t> steps;  // bytes along the dims before the last, innermost first, joined
    int64_t step = 0;            // along the last
    bool of_row = false;         // one element a row
  };
  Place place(const TensorRef&, size_t dims) const;
  void join_dims(const Dims& shape);
  void choose_threads();
  template <class Rows> void fill(Rows&) const;
  std::vector<Place> loads_, stores_;
  std::vector<int64_t> outer_;  // sizes, as Place::steps
  int64_t rows_ = 1, columns_ = 1;
  int vector_ = 1, threads_ = 256;
  bool warp_ = false;                                          // a row
  std::map<std::pair<int, int>, cuda::CUfunction> functions_;  // by device and vector
};

}  // namespace shim::program
