#include "cuda/tensor_map.h"

#include "cuda/driver.h"

namespace shim::cuda {

bool map_rows(TensorMap& map, const Tensor& t, int rows) {
  constexpr int kHalf = 6, kBf16 = 9, kSwizzle128 = 3, kPromote256 = 3, kRank = 4;
  const auto encode = driver().encode_tensor_map;
  if (!encode) return false;
  const IntArrayRef sizes = t->sizes(), strides = t->strides();
  uint64_t of[kRank], apart[kRank - 1];  // the innermost first
  const uint32_t box[kRank] = {64, uint32_t(rows), 1, 1}, steps[kRank] = {1, 1, 1, 1};
  for (int d = 0; d < kRank; ++d) of[d] = uint64_t(sizes[size_t(kRank - 1 - d)]);
  for (int d = 0; d < kRank - 1; ++d) apart[d] = uint64_t(strides[size_t(kRank - 2 - d)]) * t->itemsize();
  return encode(&map, t->dtype() == DType::f16 ? kHalf : kBf16, kRank, t->data(), of, apart, box, steps, 0, kSwizzle128,
             kPromote256, 0) == 0;
}

}  // namespace shim::cuda
