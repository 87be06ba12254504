// Kernels of operators that move elements by their places: flip, repeat, pad, roll.
#include "autograd/autocast.h"
#include "cpu/flip_tril.h"
#include "cpu/padding.h"
#include "ops/moves.h"
#include "kernels/call.h"
#include "kernels/registry.h"

namespace shim {
namespace {

template <Padding mode> Outcome<Tensor> continued_pad(const Tensor& self, IntArrayRef places) {
  return pad_from_itself(self, places, mode);
}

// Autocast knows the operators that reflect and replicate, not the one that chooses among them: they are to be called.
Outcome<Tensor> pad_of_mode(
    const Tensor& self, IntArrayRef places, std::string_view mode, std::optional<Scalar> value) {
  if (any_autocast() && (mode == "reflect" || mode == "replicate")) return NotMine{"autocast of what it calls"};
  return pad(self, places, mode, value);
}

}  // namespace

void register_move_kernels() {
  register_kernel<&pad_with, kCpu>("constant_pad");
  register_kernel<&continued_pad<Padding::reflect>, kCpuWithoutHistory>("reflection_pad");
  register_kernel<&continued_pad<Padding::replicate>, kCpuWithoutHistory>("replication_pad");
  register_kernel<&pad_of_mode, kCpuWithoutHistory>("pad");
  register_kernel<&flip, kCpu>("flip");
  register_kernel<&repeat, kCpu>("repeat");
  register_kernel<&roll, kCpu>("roll");
}

}  // namespace shim
