#pragma once
// cuDNN's functions, loaded at run time: the older ones of convolutions, and those of its graph API.
#include <cstddef>
#include <cstdint>

#include "cuda/driver.h"

namespace shim::cudnn {

using Handle = struct HandleImpl*;
using TensorDesc = struct TensorDescImpl*;
using FilterDesc = struct FilterDescImpl*;
using ConvDesc = struct ConvDescImpl*;
using Descriptor = void*;  // cudnnBackendDescriptor_t
struct Ranked {
  int algorithm, status;
  float time;
  size_t memory;
  int determinism, math;
  int reserved[3];
};  // cudnnConvolution*AlgoPerf_t

// X(member, symbol, argument types): every function gives an int, 0 for success.
#define SHIM_CUDNN(X)                                                                                                \
  X(create, cudnnCreate, (Handle*))                                                                                  \
  X(set_stream, cudnnSetStream, (Handle, cuda::CUstream))                                                            \
  X(make_tensor, cudnnCreateTensorDescriptor, (TensorDesc*))                                                         \
  X(set_tensor, cudnnSetTensorNdDescriptor, (TensorDesc, int, int, const int*, const int*))                          \
  X(make_filter, cudnnCreateFilterDescriptor, (FilterDesc*))                                                         \
  X(set_filter, cudnnSetFilterNdDescriptor, (FilterDesc, int, int, int, const int*))                                 \
  X(make_convolution, cudnnCreateConvolutionDescriptor, (ConvDesc*))                                                 \
  X(set_convolution, cudnnSetConvolutionNdDescriptor, (ConvDesc, int, const int*, const int*, const int*, int, int)) \
  X(set_groups, cudnnSetConvolutionGroupCount, (ConvDesc, int))                                                      \
  X(set_math, cudnnSetConvolutionMathType, (ConvDesc, int))                                                          \
  X(rank_forward, cudnnGetConvolutionForwardAlgorithm_v7,                                                            \
      (Handle, TensorDesc, FilterDesc, ConvDesc, TensorDesc, int, int*, Ranked*))                                    \
  X(rank_input, cudnnGetConvolutionBackwardDataAlgorithm_v7,                                                         \
      (Handle, FilterDesc, TensorDesc, ConvDesc, TensorDesc, int, int*, Ranked*))                                    \
  X(rank_weight, cudnnGetConvolutionBackwardFilterAlgorithm_v7,                                                      \
      (Handle, TensorDesc, TensorDesc, ConvDesc, FilterDesc, int, int*, Ranked*))                                    \
  X(room_forward, cudnnGetConvolutionForwardWorkspaceSize,                                                           \
      (Handle, TensorDesc, FilterDesc, ConvDesc, TensorDesc, int, size_t*))                                          \
  X(room_input, cudnnGetConvolutionBackwardDataWorkspaceSize,                                                        \
      (Handle, FilterDesc, TensorDesc, ConvDesc, TensorDesc, int, size_t*))                                          \
  X(room_weight, cudnnGetConvolutionBackwardFilterWorkspaceSize,                                                     \
      (Handle, TensorDesc, TensorDesc, ConvDesc, FilterDesc, int, size_t*))                                          \
  X(forward, cudnnConvolutionForward,                                                                                \
      (Handle, const void*, TensorDesc, const void*, FilterDesc, const void*, ConvDesc, int, void*, size_t,          \
          const void*, TensorDesc, void*))                                                                           \
  X(input, cudnnConvolutionBackwardData,                                                                             \
      (Handle, const void*, FilterDesc, const void*, TensorDesc, const void*, ConvDesc, int, void*, size_t,          \
          const void*, TensorDesc, void*))                                                                           \
  X(weight, cudnnConvolutionBackwardFilter,                                                                          \
      (Handle, const void*, TensorDesc, const void*, TensorDesc, const void*, ConvDesc, int, void*, size_t,          \
          const void*, FilterDesc, void*))

// The graph API: descriptors with attributes by number.
#define SHIM_CUDNN_GRAPH(X)                                                                    \
  X(create_descriptor, cudnnBackendCreateDescriptor, (int, Descriptor*))                       \
  X(destroy_descriptor, cudnnBackendDestroyDescriptor, (Descriptor))                           \
  X(finalize, cudnnBackendFinalize, (Descriptor))                                              \
  X(set_attribute, cudnnBackendSetAttribute, (Descriptor, int, int, int64_t, const void*))     \
  X(get_attribute, cudnnBackendGetAttribute, (Descriptor, int, int, int64_t, int64_t*, void*)) \
  X(execute, cudnnBackendExecute, (Handle, Descriptor, Descriptor))

struct Library {
#define SHIM_MEMBER(member, symbol, types) int(*member) types = nullptr;
  SHIM_CUDNN(SHIM_MEMBER)
  SHIM_CUDNN_GRAPH(SHIM_MEMBER)
#undef SHIM_MEMBER
  size_t (*version)() = nullptr;
  void* opened = nullptr;
  bool loaded = false;
};

const Library& library();
// This thread's handle on the device's current stream: handles are not to be shared. Null if there is none.
Handle handle(int device);

}  // namespace shim::cudnn
