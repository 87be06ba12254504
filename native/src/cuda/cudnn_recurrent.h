#pragma once
// Recurrent layers by cuDNN, as torch._cudnn_rnn names what they are of. False or nothing: cuDNN is not there or has no kernel for this.
#include <span>
#include <vector>

#include "core/tensor.h"

namespace shim::cudnn {

struct Recurrent {
  int mode;                             // 0 ReLU, 1 tanh, 2 LSTM, 3 GRU
  int64_t input, hidden, proj, layers;  // proj 0: no projection of the state
  bool bidirectional, biases;
  DType dtype;
  int device;
  double dropout = 0;  // between layers, where there is a state of it
  Tensor dropout_state;
};

// The layers' weights in one buffer: for each layer and direction w_ih, w_hh, then b_ih and b_hh, then w_hr.
struct Part {
  Dims sizes;
  int64_t start;
};  // in elements
struct Layout {
  int64_t elements = 0;
  std::vector<Part> parts;
};
const Layout* layout_of(const Recurrent&);
Tensor part_of(const Tensor& buffer, const Part&);
// The buffer that the weights lie in, each at its place; with `copied` a new one where they do not. Nothing where they do not fit the layers.
Tensor gathered(const Layout&, std::span<const Tensor> weights, bool* copied);

// x (steps, batch, input), or the rows of packed sequences with their number at each step; hx and cx (layers · directions, batch, size).
struct Rows {
  Tensor x, hx, cx;
  Dims batch_sizes;
};
struct Run {
  Tensor y, hy, cy, reserve;
};
bool recurrent(const Recurrent&, const Rows&, const Tensor& buffer, bool training, Run*);
// Gradients of the results may be null; `reserve` is written to.
struct Slopes {
  Tensor x, hx, cx, buffer;
};
bool recurrent_backward(const Recurrent&, const Rows&, const Tensor& buffer, const Tensor& y, const Tensor& gy,
    const Tensor& ghy, const Tensor& gcy, const Tensor& reserve, bool of_weights, Slopes*);

Tensor dropout_state(double p, int64_t seed, int device);

}  // namespace shim::cudnn
