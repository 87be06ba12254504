#pragma once
// A walk over up to three tensors of one shape, as gather.cuh takes it.
#include <cstdint>

namespace shim::cuda {

constexpr int kWalkDims = 6;
struct Walk {
  int64_t size[kWalkDims] = {};
  int64_t step[3][kWalkDims] = {};
  int dims = 0;
};  // innermost first, steps in elements

// One dimension more, merged with the last where their strides allow. False: too many.
inline bool extend(Walk& w, int64_t n, const int64_t (&steps)[3]) {
  if (n == 1) return true;
  bool merges = w.dims > 0;
  for (int k = 0; merges && k < 3; ++k) merges = steps[k] == w.step[k][w.dims - 1] * w.size[w.dims - 1];
  if (merges) {
    w.size[w.dims - 1] *= n;
    return true;
  }
  if (w.dims == kWalkDims) return false;
  w.size[w.dims] = n;
  for (int k = 0; k < 3; ++k) w.step[k][w.dims] = steps[k];
  ++w.dims;
  return true;
}

}  // namespace shim::cuda
