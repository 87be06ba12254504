#pragma once
// Types of PyTorch's C++ API that are not here: a source that uses one is refused by name when it is compiled.
#include <type_traits>

namespace shim {
template <class Name> struct Absent {
  static_assert(std::is_void_v<Name>,
      "shim-torch does not have this type of PyTorch's C++ API: no torch::nn modules, no TensorIterator, no at::vec, "
      "no "
      "torch::jit (docs/cpp_extensions.md lists what there is)");
};
}  // namespace shim
#define SHIM_ABSENT(name) \
  namespace absent {      \
  struct name;            \
  }                       \
  using name = ::shim::Absent<absent::name>;
#define TORCH_MODULE(name) using name = torch::nn::ModuleHolder<name##Impl>

namespace at {
SHIM_ABSENT(TensorIterator)
SHIM_ABSENT(TensorIteratorBase)
SHIM_ABSENT(TensorIteratorConfig)
namespace vec {
namespace absent {
template <class T> struct Vectorized;
}
template <class T> using Vectorized = shim::Absent<absent::Vectorized<T>>;
}  // namespace vec
}  // namespace at

namespace torch {
namespace jit {
SHIM_ABSENT(Module)
namespace script {
using jit::Module;
}
}  // namespace jit
namespace nn {
namespace absent {
template <class T> struct Cloneable;
template <class T> struct ModuleHolder;
}  // namespace absent
template <class T> using Cloneable = shim::Absent<absent::Cloneable<T>>;
template <class T> using ModuleHolder = shim::Absent<absent::ModuleHolder<T>>;
// clang-format off
SHIM_ABSENT(Module) SHIM_ABSENT(AnyModule) SHIM_ABSENT(Sequential) SHIM_ABSENT(ModuleList) SHIM_ABSENT(ModuleDict)
SHIM_ABSENT(ParameterList) SHIM_ABSENT(ParameterDict) SHIM_ABSENT(Functional) SHIM_ABSENT(Identity)
SHIM_ABSENT(Linear) SHIM_ABSENT(Bilinear) SHIM_ABSENT(Flatten) SHIM_ABSENT(Unflatten) SHIM_ABSENT(Embedding)
SHIM_ABSENT(EmbeddingBag) SHIM_ABSENT(Conv1d) SHIM_ABSENT(Conv2d) SHIM_ABSENT(Conv3d) SHIM_ABSENT(ConvTranspose1d)
SHIM_ABSENT(ConvTranspose2d) SHIM_ABSENT(ConvTranspose3d) SHIM_ABSENT(BatchNorm1d) SHIM_ABSENT(BatchNorm2d)
SHIM_ABSENT(BatchNorm3d) SHIM_ABSENT(InstanceNorm1d) SHIM_ABSENT(InstanceNorm2d) SHIM_ABSENT(InstanceNorm3d)
SHIM_ABSENT(LayerNorm) SHIM_ABSENT(GroupNorm) SHIM_ABSENT(LocalResponseNorm) SHIM_ABSENT(CrossMapLRN2d)
SHIM_ABSENT(Dropout) SHIM_ABSENT(Dropout2d) SHIM_ABSENT(Dropout3d) SHIM_ABSENT(AlphaDropout)
SHIM_ABSENT(FeatureAlphaDropout) SHIM_ABSENT(RNN) SHIM_ABSENT(LSTM) SHIM_ABSENT(GRU) SHIM_ABSENT(RNNCell)
SHIM_ABSENT(LSTMCell) SHIM_ABSENT(GRUCell) SHIM_ABSENT(MultiheadAttention) SHIM_ABSENT(Transformer)
SHIM_ABSENT(TransformerEncoder) SHIM_ABSENT(TransformerDecoder) SHIM_ABSENT(TransformerEncoderLayer)
SHIM_ABSENT(TransformerDecoderLayer) SHIM_ABSENT(ReLU) SHIM_ABSENT(ReLU6) SHIM_ABSENT(RReLU) SHIM_ABSENT(LeakyReLU)
SHIM_ABSENT(PReLU) SHIM_ABSENT(ELU) SHIM_ABSENT(SELU) SHIM_ABSENT(CELU) SHIM_ABSENT(GELU) SHIM_ABSENT(GLU)
SHIM_ABSENT(SiLU) SHIM_ABSENT(Mish) SHIM_ABSENT(Sigmoid) SHIM_ABSENT(Tanh) SHIM_ABSENT(Softmax) SHIM_ABSENT(Softmin)
SHIM_ABSENT(LogSoftmax) SHIM_ABSENT(Softplus) SHIM_ABSENT(Softshrink) SHIM_ABSENT(Softsign) SHIM_ABSENT(Tanhshrink)
SHIM_ABSENT(Threshold) SHIM_ABSENT(Hardshrink) SHIM_ABSENT(Hardtanh) SHIM_ABSENT(LogSigmoid) SHIM_ABSENT(MaxPool1d)
SHIM_ABSENT(MaxPool2d) SHIM_ABSENT(MaxPool3d) SHIM_ABSENT(AvgPool1d) SHIM_ABSENT(AvgPool2d) SHIM_ABSENT(AvgPool3d)
SHIM_ABSENT(AdaptiveAvgPool1d) SHIM_ABSENT(AdaptiveAvgPool2d) SHIM_ABSENT(AdaptiveAvgPool3d)
SHIM_ABSENT(AdaptiveMaxPool1d) SHIM_ABSENT(AdaptiveMaxPool2d) SHIM_ABSENT(AdaptiveMaxPool3d) SHIM_ABSENT(Upsample)
SHIM_ABSENT(PixelShuffle) SHIM_ABSENT(PixelUnshuffle) SHIM_ABSENT(Fold) SHIM_ABSENT(Unfold)
SHIM_ABSENT(CrossEntropyLoss) SHIM_ABSENT(NLLLoss) SHIM_ABSENT(MSELoss) SHIM_ABSENT(L1Loss) SHIM_ABSENT(SmoothL1Loss)
SHIM_ABSENT(HuberLoss) SHIM_ABSENT(BCELoss) SHIM_ABSENT(BCEWithLogitsLoss) SHIM_ABSENT(KLDivLoss)
SHIM_ABSENT(CosineSimilarity) SHIM_ABSENT(PairwiseDistance)
// clang-format on
}  // namespace nn
}  // namespace torch
#undef SHIM_ABSENT
