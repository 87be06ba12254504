#pragma once
// cuDNN's functions and constants of recurrent layers.
#include <cstddef>
#include <cstdint>

#include "cuda/cudnn.h"

namespace shim::cudnn::recurrent_calls {  // its own, as those of convolutions have the same names

using Handle = void*;
using TensorDesc = struct TensorDescOf*;
using LayersDesc = struct LayersDescOf*;
using DataDesc = struct DataDescOf*;
using DropoutDesc = struct DropoutDescOf*;

#define SHIM_CUDNN_RNN(X)                                                                                              \
  X(make_tensor, cudnnCreateTensorDescriptor, (TensorDesc*))                                                           \
  X(set_tensor, cudnnSetTensorNdDescriptor, (TensorDesc, int, int, const int*, const int*))                            \
  X(make_layers, cudnnCreateRNNDescriptor, (LayersDesc*))                                                              \
  X(set_layers, cudnnSetRNNDescriptor_v8,                                                                              \
      (LayersDesc, int, int, int, int, int, int, int, int, int32_t, int32_t, int32_t, int32_t, DropoutDesc, uint32_t)) \
  X(make_data, cudnnCreateRNNDataDescriptor, (DataDesc*))                                                              \
  X(set_data, cudnnSetRNNDataDescriptor, (DataDesc, int, int, int, int, int, const int*, void*))                       \
  X(make_dropout, cudnnCreateDropoutDescriptor, (DropoutDesc*))                                                        \
  X(set_dropout, cudnnSetDropoutDescriptor, (DropoutDesc, Handle, float, void*, size_t, unsigned long long))           \
  X(restore_dropout, cudnnRestoreDropoutDescriptor, (DropoutDesc, Handle, float, void*, size_t, unsigned long long))   \
  X(dropout_room, cudnnDropoutGetStatesSize, (Handle, size_t*))                                                        \
  X(weight_room, cudnnGetRNNWeightSpaceSize, (Handle, LayersDesc, size_t*))                                            \
  X(weight_at, cudnnGetRNNWeightParams,                                                                                \
      (Handle, LayersDesc, int32_t, size_t, const void*, int32_t, TensorDesc, void**, TensorDesc, void**))             \
  X(room, cudnnGetRNNTempSpaceSizes, (Handle, LayersDesc, int, DataDesc, size_t*, size_t*))                            \
  X(forward, cudnnRNNForward,                                                                                          \
      (Handle, LayersDesc, int, const int32_t*, DataDesc, const void*, DataDesc, void*, TensorDesc, const void*,       \
          void*, TensorDesc, const void*, void*, size_t, const void*, size_t, void*, size_t, void*))                   \
  X(data, cudnnRNNBackwardData_v8,                                                                                     \
      (Handle, LayersDesc, const int32_t*, DataDesc, const void*, const void*, DataDesc, void*, TensorDesc,            \
          const void*, const void*, void*, TensorDesc, const void*, const void*, void*, size_t, const void*, size_t,   \
          void*, size_t, void*))                                                                                       \
  X(weights, cudnnRNNBackwardWeights_v8,                                                                               \
      (Handle, LayersDesc, int, const int32_t*, DataDesc, const void*, TensorDesc, const void*, DataDesc, const void*, \
          size_t, void*, size_t, void*, size_t, void*))

struct Library {
#define SHIM_MEMBER(member, symbol, types) int(*member) types = nullptr;
  SHIM_CUDNN_RNN(SHIM_MEMBER)
#undef SHIM_MEMBER
  bool loaded = false;
};

inline const Library& library() {
  static const Library* found = [] {
    auto* l = new Library();
    bool complete = true;
#define SHIM_LOAD(member, name, types)                       \
  l->member = reinterpret_cast<int(*) types>(symbol(#name)); \
  complete = complete && l->member;
    SHIM_CUDNN_RNN(SHIM_LOAD)
#undef SHIM_LOAD
    l->loaded = complete;
    return l;
  }();
  return *found;
}

constexpr int kFloat = 0, kDouble = 1, kHalf = 2, kBfloat = 9, kDefaultMath = 0, kTensorMath = 1, kPlainMath = 3;
constexpr int kStandard = 0, kSmallStates = 3, kLinearInput = 0, kDoubleBias = 2, kInference = 0, kTraining = 1,
              kUnpacked = 0, kPacked = 1, kAdd = 0;
constexpr uint32_t kPaddedData = 1;

}  // namespace shim::cudnn::recurrent_calls
