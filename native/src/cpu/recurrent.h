#pragma once
// An LSTM's layer, the pointwise part of its step, and their gradients. Float32 or float64, contiguous.
#include "core/tensor.h"

namespace shim {

struct LstmStep {
  Tensor h, c, gates;
};  // gates: i, f, g and o after their functions

LstmStep lstm_step(
    const Tensor& a, const Tensor& b, const Tensor& c);  // of the gates a + b (..., 4 n) and the cell (..., n)
struct LstmGradients {
  Tensor gates, c;
};
// `grad_h` and `grad_c` are the results' gradients; either may be null.
LstmGradients lstm_step_backward(
    const Tensor& grad_h, const Tensor& grad_c, const Tensor& gates, const Tensor& before, const Tensor& after);

// Every step of a layer: of the inputs' gates (steps, batch, 4 n), a state (batch, n), the recurrent weight (4 n, n) and perhaps its bias.
struct LstmLayer {
  Tensor outputs, cells, gates;
};  // of all steps; null where the product is not served
LstmLayer lstm_layer(const Tensor& gates, const Tensor& h, const Tensor& c, const Tensor& weight, const Tensor& bias);
struct LstmLayerGradients {
  Tensor gates, h, c;
};
LstmLayerGradients lstm_layer_backward(const Tensor& grad_outputs, const Tensor& grad_cells, const Tensor& gates,
    const Tensor& c, const Tensor& weight, const Tensor& cells);

}  // namespace shim
