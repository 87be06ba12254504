#pragma once
// An LSTM's layer, the pointwise part of its step, and their gradients, of CPU tensors of float32 or float64. Gates are i, f, g and o.
#include "ops/kernel.h"

namespace shim {

// Of the gates a + b (..., 4 n) and the cell (..., n): h, the next cell, the gates after their functions.
Outcome<std::tuple<Tensor, Tensor, Tensor>> lstm_step(const Tensor& a, const Tensor& b, const Tensor& cell);
// The gradients of the gates and of the cell before.
Outcome<std::tuple<Tensor, Tensor>> lstm_step_backward(const OptionalTensor& grad_h, const OptionalTensor& grad_cell,
    const Tensor& gates, const Tensor& before, const Tensor& after);

// Every step of a layer: of the inputs' gates (steps, batch, 4 n), a state (batch, n), the recurrent weight (4 n, n) and perhaps its bias.
// The outputs, cells and gates of all steps.
Outcome<std::tuple<Tensor, Tensor, Tensor>> lstm_layer(
    const Tensor& gates, const Tensor& h, const Tensor& c, const Tensor& weight, const OptionalTensor& bias);
// The gradients of the gates, of h and of c.
Outcome<std::tuple<Tensor, Tensor, Tensor>> lstm_layer_backward(const OptionalTensor& grad_outputs,
    const OptionalTensor& grad_cells, const Tensor& gates, const Tensor& c, const Tensor& weight, const Tensor& cells);

}  // namespace shim
