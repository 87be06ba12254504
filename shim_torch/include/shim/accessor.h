#pragma once
// Elements by index: tensor accessors of the host, and packed ones, which carry their sizes.
#include <shim/base.h>

namespace c10 {

template <class T> struct DefaultPtrTraits {
  typedef T* PtrType;
};
template <class T> struct RestrictPtrTraits {
  typedef T* __restrict PtrType;
};

template <class T, size_t N, template <class> class P = DefaultPtrTraits, class I = int64_t> class TensorAccessor {
 public:
  typedef typename P<T>::PtrType PtrType;
  C10_HOST_DEVICE TensorAccessor(PtrType data, const I* sizes, const I* strides)
      : data_(data), sizes_(sizes), strides_(strides) {}
  C10_HOST_DEVICE I size(I i) const { return sizes_[i]; }
  C10_HOST_DEVICE I stride(I i) const { return strides_[i]; }
  C10_HOST_DEVICE PtrType data() const { return data_; }
  ArrayRef<I> sizes() const { return {sizes_, N}; }
  ArrayRef<I> strides() const { return {strides_, N}; }
  C10_HOST_DEVICE decltype(auto) operator[](I i) const {
    if constexpr (N == 1)
      return static_cast<T&>(data_[strides_[0] * i]);
    else
      return TensorAccessor<T, N - 1, P, I>(data_ + strides_[0] * i, sizes_ + 1, strides_ + 1);
  }

 private:
  PtrType data_;
  const I *sizes_, *strides_;
};

template <class T, size_t N, template <class> class P = DefaultPtrTraits, class I = int64_t>
class GenericPackedTensorAccessor {
 public:
  typedef typename P<T>::PtrType PtrType;
  template <class From>
  GenericPackedTensorAccessor(PtrType data, const From* sizes, const From* strides) : data_(data) {
    for (size_t i = 0; i < N; ++i) {
      sizes_[i] = I(sizes[i]);
      strides_[i] = I(strides[i]);
    }
  }
  C10_HOST_DEVICE I size(I i) const { return sizes_[i]; }
  C10_HOST_DEVICE I stride(I i) const { return strides_[i]; }
  C10_HOST_DEVICE PtrType data() const { return data_; }
  C10_HOST_DEVICE decltype(auto) operator[](I i) const {
    if constexpr (N == 1)
      return static_cast<T&>(const_cast<PtrType&>(data_)[strides_[0] * i]);
    else
      return TensorAccessor<T, N - 1, P, I>(const_cast<PtrType&>(data_) + strides_[0] * i, sizes_ + 1, strides_ + 1);
  }

 private:
  PtrType data_;
  I sizes_[N ? N : 1], strides_[N ? N : 1];
};
template <class T, size_t N, template <class> class P = DefaultPtrTraits>
using PackedTensorAccessor32 = GenericPackedTensorAccessor<T, N, P, int32_t>;
template <class T, size_t N, template <class> class P = DefaultPtrTraits>
using PackedTensorAccessor64 = GenericPackedTensorAccessor<T, N, P, int64_t>;

}  // namespace c10
namespace torch {
using c10::DefaultPtrTraits;
using c10::GenericPackedTensorAccessor;
using c10::PackedTensorAccessor32;
using c10::PackedTensorAccessor64;
using c10::RestrictPtrTraits;
using c10::TensorAccessor;
}  // namespace torch
