#pragma once
// One step of an optimizer for lists of CUDA tensors (cpu/optimizer_steps.h), in few launches. Step counts are on the CPU or beside the
// parameters; they are counted up first.
#include "cpu/optimizer_steps.h"

namespace shim::cuda {

optimizers::Stepped adam_step(TensorList parameters, TensorList gradients, TensorList means, TensorList squares,
    TensorList greatest, TensorList counts, const optimizers::AdamSettings&);
optimizers::Stepped sgd_step(
    TensorList parameters, TensorList gradients, TensorList buffers, const optimizers::SgdSettings&);
optimizers::Stepped adagrad_step(TensorList parameters, TensorList gradients, TensorList sums, TensorList counts,
    const optimizers::AdagradSettings&);
optimizers::Stepped rmsprop_step(TensorList parameters, TensorList gradients, TensorList squares, TensorList buffers,
    TensorList means, TensorList counts, const optimizers::RmspropSettings&);
optimizers::Stepped adadelta_step(TensorList parameters, TensorList gradients, TensorList squares, TensorList moves,
    TensorList counts, const optimizers::AdadeltaSettings&);
optimizers::Stepped adamax_step(TensorList parameters, TensorList gradients, TensorList means, TensorList largest,
    TensorList counts, const optimizers::AdamaxSettings&);
optimizers::Stepped nadam_step(TensorList parameters, TensorList gradients, TensorList means, TensorList squares,
    TensorList products, TensorList counts, double momentum_decay, const optimizers::AdamSettings&);
optimizers::Stepped radam_step(TensorList parameters, TensorList gradients, TensorList means, TensorList squares,
    TensorList counts, const optimizers::AdamSettings&);

}  // namespace shim::cuda
