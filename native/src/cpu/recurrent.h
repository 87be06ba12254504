#pragma once
// The pointwise part of an LSTM's step, and its gradient. Float32 or float64, contiguous.
#include "core/tensor.h"

namespace shim {

struct LstmStep { Tensor h, c, gates; };        // gates: i, f, g and o after their functions

LstmStep lstm_step(const Tensor& a, const Tensor& b, const Tensor& c);     // of the gates a + b (..., 4 n) and the cell (..., n)
struct LstmGradients { Tensor gates, c; };
// `of_h` and `of_c` are the results' gradients; either may be null.
LstmGradients lstm_step_backward(const Tensor& of_h, const Tensor& of_c, const Tensor& gates, const Tensor& before, const Tensor& after);

}  // namespace shim
