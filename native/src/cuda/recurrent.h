#pragma once
// The pointwise part of a step of an LSTM and of a GRU, and its gradients, on CUDA, of real floats.
#include "ops/kernel.h"

namespace shim::cuda {

// Of the gates a + b (..., 4 n), which are i, f, g and o, and the cell (..., n): h, the next cell, the gates after their functions.
Outcome<std::tuple<Tensor, Tensor, Tensor>> lstm_step(const Tensor& a, const Tensor& b, const Tensor& cell);
// The gradients of the gates and of the cell before.
Outcome<std::tuple<Tensor, Tensor>> lstm_step_backward(const OptionalTensor& grad_h, const OptionalTensor& grad_cell,
    const Tensor& gates, const Tensor& before, const Tensor& after);
// Of gates of the input and of the state (..., 3 n), which are reset, update and new, and the state (..., n): the next state, and
// what the gradients read (..., 4 n).
Outcome<std::tuple<Tensor, Tensor>> gru_step(const Tensor& gates, const Tensor& more, const Tensor& state);
// The gradients of both gates and of the state before.
Outcome<std::tuple<Tensor, Tensor, Tensor>> gru_step_backward(const Tensor& g, const Tensor& kept, const Tensor& state);

}  // namespace shim::cuda
