#pragma once
// One step of an optimizer for lists of CPU tensors, with the arithmetic of the tensor operators that say it: what these would round to the
// tensors' dtype is rounded. Lists have as many tensors as the first, or none where they are optional. Step counts are tensors of one
// element on the CPU; they are counted up first.
#include <tuple>

#include "cpu/optimizer_element.h"
#include "ops/kernel.h"

namespace shim::optimizers {

using Stepped = Outcome<std::tuple<>>;

// `greatest`: of the mean squares, for amsgrad.
Stepped adam_step(TensorList parameters, TensorList gradients, TensorList means, TensorList squares,
    TensorList greatest, TensorList counts, const AdamSettings&);

struct SgdSettings {
  double lr, momentum, dampening, weight_decay;
  bool nesterov, maximize;
};
Stepped sgd_step(TensorList parameters, TensorList gradients, TensorList buffers, const SgdSettings&);

Stepped adagrad_step(
    TensorList parameters, TensorList gradients, TensorList sums, TensorList counts, const AdagradSettings&);

// `means`: of the gradients, for the centred one.
Stepped rmsprop_step(TensorList parameters, TensorList gradients, TensorList squares, TensorList buffers,
    TensorList means, TensorList counts, const RmspropSettings&);

Stepped adadelta_step(TensorList parameters, TensorList gradients, TensorList squares, TensorList moves,
    TensorList counts, const AdadeltaSettings&);

Stepped adamax_step(TensorList parameters, TensorList gradients, TensorList means, TensorList largest,
    TensorList counts, const AdamaxSettings&);

// `products`: of the momentums until now, tensors as the counts are.
Stepped nadam_step(TensorList parameters, TensorList gradients, TensorList means, TensorList squares,
    TensorList products, TensorList counts, double momentum_decay, const AdamSettings&);
Stepped radam_step(TensorList parameters, TensorList gradients, TensorList means, TensorList squares, TensorList counts,
    const AdamSettings&);

}  // namespace shim::optimizers
