#pragma once
// Gradients whose slope is constant in pieces: as in PyTorch their own gradient by the input is zeros, not absent.
#include <string>

#include "autograd/autograd.h"

namespace shim {

Tensor tied_to(
    const Tensor& gradient, const Edge& input, std::string name);  // the gradient, with a zero slope by `input`
Tensor alias_with_history(const Tensor& input);  // the same memory and, where it has one, a history through the input
Tensor flat_input(const Tensor& input);          // the input; gradients that pass it back are tied to it

}  // namespace shim
