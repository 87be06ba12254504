#pragma once
// Discrete Fourier transforms of CPU tensors of 32- and 64-bit floats.
#include "core/tensor.h"

namespace shim {

enum class Fourier : uint8_t { complex, from_real, from_real_whole, to_real };

// Over `dims` (in range, each once, the last one halved where one side is real). `order`: the dims of the result from the slowest to the
// fastest in memory, `dims` being the last ones of it and the halved one the very last. Multiplied by `scale`. `last_size`: of a real
// result. Null where there is no kernel.
Tensor fourier(Fourier kind, const Tensor& self, const Dims& dims, const Dims& order, bool forward, double scale,
    int64_t last_size);

}  // namespace shim
