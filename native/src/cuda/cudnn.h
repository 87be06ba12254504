#pragma once
// Convolutions by cuDNN, loaded at run time: where it is not installed, the operators' bodies do them.
#include "core/tensor.h"

namespace shim::cudnn {

struct Settings {
  bool enabled = true, allow_tf32 = true, deterministic = false;
};
Settings& settings();                  // torch.backends.cudnn's
bool* switch_named(std::string_view);  // of these; null: there is none

struct Geometry {
  Dims stride, padding, dilation;
  int64_t groups;
};  // of the dims after the channels

// All of (batch, channels, height, width) or (batch, channels, depth, height, width), of one dtype, contiguous, or all with channels
// last. Each writes its last argument; false: cuDNN is not there or has no kernel for this.
bool convolve(const Tensor& x, const Tensor& weight, const Geometry&, const Tensor& out);
bool convolve_input(
    const Tensor& g, const Tensor& weight, const Geometry&, const Tensor& dx);  // also the transposed convolution
bool convolve_weight(const Tensor& x, const Tensor& g, const Geometry&, const Tensor& dweight);

bool available();                 // loads the library; needs a GPU
void* symbol(const char* name);   // a function of the library; null without it
void* thread_handle(int device);  // this thread's handle, on the device's current stream; null if there is none
int64_t version();                // 91002 for 9.10.2; 0 without the library

}  // namespace shim::cudnn
