#pragma once
// Loops over what is reduced: float16 and bfloat16, which MPI does not know, and the division of a mean.
#include "core/tensor.h"
#include "distributed/mpi_library.h"

namespace shim::distributed {

mpi::Reduction* half_reducer(
    bool bfloat16, int which);             // 0: sum, 1: minimum, 2: maximum, 3: product; in float32, rounded
void divide_by(const TensorImpl&, int n);  // contiguous, of real or complex numbers

}  // namespace shim::distributed
