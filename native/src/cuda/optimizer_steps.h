#pragma once
// One step of an optimizer for lists of CUDA tensors (cpu/optimizer_steps.h), in few launches. Step counts are on the CPU or beside the
// parameters; they are counted up first.
#include "cpu/optimizer_steps.h"

namespace shim::cuda {

optimizers::Stepped adam_step(TensorList parameters, TensorList gradients, TensorList means, TensorList squares,
    TensorList greatest, TensorList counts, const optimizers::AdamSettings&);
optimizers::Stepped sgd_step(
    TensorList parameters, TensorList gradients, TensorList buffers, const optimizers::SgdSettings&);

}  // namespace shim::cuda
