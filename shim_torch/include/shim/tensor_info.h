#pragma once
// Tensors of any strides in kernels: where the element of a linear index lies. Nothing of CUDA's is needed.
#include <shim/functions.h>

namespace at {
namespace cuda {
namespace detail {

constexpr int MAX_TENSORINFO_DIMS = 25;

template <class T, class IndexType> struct TensorInfo {
  TensorInfo() = default;
  TensorInfo(T* p, int n, const IndexType* sz, const IndexType* st) : data(p), dims(n) {
    TORCH_CHECK(n < MAX_TENSORINFO_DIMS, "CUDA Tensors cannot have more than 25 dimensions");
    for (int d = 0; d < n; ++d) sizes[d] = sz[d], strides[d] = st[d];
  }
  void reduceDim(int d) {
    TORCH_CHECK(d >= 0 && d < dims, "expected dim between 0 and dims - 1");
    sizes[d] = 1;
  }
  // Neighbours that one stride steps through become one dimension, all but `kept`. Returns where that one is then, or -1.
  int collapseDims(int kept = -1) {
    TORCH_CHECK(kept >= -1 && kept < dims, "expected excluded dim between -1 and dims - 1");
    if (std::all_of(sizes, sizes + dims, [](IndexType n) { return n == 1; })) {  // one element, however many dimensions
      sizes[0] = strides[0] = 1;
      dims = 1;
      return 0;
    }
    int made = 0, found = -1;
    bool may_grow = false;
    for (int d = 0; d < dims; ++d) {
      if (d == kept) {
        found = made;
        may_grow = false;
      } else if (sizes[d] == 1) {
        continue;
      } else if (may_grow && strides[made - 1] == sizes[d] * strides[d]) {
        sizes[made - 1] *= sizes[d];
        strides[made - 1] = strides[d];
        continue;
      } else {
        may_grow = true;
      }
      sizes[made] = sizes[d];
      strides[made++] = strides[d];
    }
    dims = made;
    return found;
  }
  C10_HOST_DEVICE bool isContiguous() const { return dims == 1 && strides[0] == 1; }

  T* data = nullptr;
  IndexType sizes[MAX_TENSORINFO_DIMS] = {};
  IndexType strides[MAX_TENSORINFO_DIMS] = {};
  int dims = 0;
};

// Dims: how many dimensions, where that is known when the kernel is compiled; -1: what the tensor has; -2: it is contiguous.
template <class T, class IndexType, int Dims> struct IndexToOffset {
  static C10_HOST_DEVICE IndexType get(IndexType linear, const TensorInfo<T, IndexType>& info) {
    if constexpr (Dims == -2) return linear;
    IndexType offset = 0;
    const int n = Dims > 0 ? Dims : info.dims;
    for (int d = n - 1; d > 0; --d) {
      offset += linear % info.sizes[d] * info.strides[d];
      linear /= info.sizes[d];
    }
    return n > 0 ? offset + linear * info.strides[0] : offset;
  }
};

template <class T, class IndexType> TensorInfo<std::remove_const_t<T>, IndexType> getTensorInfo(const Tensor& t) {
  IndexType sizes[MAX_TENSORINFO_DIMS], strides[MAX_TENSORINFO_DIMS];
  TORCH_CHECK(t.dim() < MAX_TENSORINFO_DIMS, "CUDA Tensors cannot have more than 25 dimensions");
  for (int64_t d = 0; d < t.dim(); ++d) sizes[d] = IndexType(t.size(d)), strides[d] = IndexType(t.stride(d));
  return {t.data_ptr<std::remove_const_t<T>>(), int(t.dim()), sizes, strides};
}

inline bool canUse32BitIndexMath(const Tensor& t, int64_t most = std::numeric_limits<int32_t>::max()) {
  if (t.numel() >= most) return false;
  int64_t last = 0;
  for (int64_t d = 0; d < t.dim(); ++d) last += (t.size(d) - 1) * t.stride(d);
  return t.numel() == 0 || last < most;
}

}  // namespace detail
}  // namespace cuda
}  // namespace at
