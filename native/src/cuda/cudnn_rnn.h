#pragma once
// torch._cudnn_rnn and its gradient by cuDNN. What cuDNN does not take is left to the layers' steps.
#include <array>

#include "cuda/cudnn_recurrent.h"
#include "ops/kernel.h"

namespace shim::cudnn {

bool takes(const Tensor&);       // floats with values of their own on CUDA, and not empty
bool takes_weights(TensorList);  // the same of all, and there is one

extern void (*weights_copied)();  // called where a call copies weights that do not lie in one buffer; null: nobody asks

// (output, hy, cy, reserve, weight_buf)
Outcome<std::tuple<Tensor, Tensor, Tensor, Tensor, Tensor>> rnn(const Tensor& input, TensorList weight,
    int64_t weight_stride0, const OptionalTensor& weight_buf, const Tensor& hx, const OptionalTensor& cx, int64_t mode,
    int64_t hidden_size, int64_t proj_size, int64_t num_layers, bool batch_first, double dropout, bool train,
    bool bidirectional, IntArrayRef batch_sizes, const OptionalTensor& dropout_state);
// By input, hx, cx and, where the mask's last says so, the weights.
Outcome<std::tuple<Tensor, Tensor, Tensor, std::vector<Tensor>>> rnn_backward(const Tensor& input, Ignored weight,
    int64_t weight_stride0, const Tensor& weight_buf, const Tensor& hx, const OptionalTensor& cx, const Tensor& output,
    const OptionalTensor& grad_output, const OptionalTensor& grad_hy, const OptionalTensor& grad_cy, int64_t mode,
    int64_t hidden_size, int64_t proj_size, int64_t num_layers, bool batch_first, double dropout, bool train,
    bool bidirectional, IntArrayRef batch_sizes, const OptionalTensor& dropout_state, const Tensor& reserve,
    std::array<bool, 4> output_mask);

// A buffer with copies of the weights, and views of it in their places; nothing where cuDNN has no such layers.
std::optional<std::tuple<Tensor, std::vector<Tensor>>> weight_buffer(TensorList weights, int64_t weight_stride0,
    int64_t input_size, int64_t mode, int64_t hidden_size, int64_t proj_size, int64_t num_layers, bool bidirectional);

}  // namespace shim::cudnn
