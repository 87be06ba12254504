// Kernels of CUDA tensors for operators that make sequences, counts and copies of other sizes.
#include "cuda/histogram_unique.h"
#include "cuda/pad.h"
#include "cuda/rows.h"
#include "cuda/multinomial.h"
#include "cuda/search.h"
#include "cuda/two_results.h"
#include "kernels/call.h"
#include "kernels/registry.h"

namespace shim {

void register_cuda_creation_kernels() {
  using namespace cuda;
  register_kernel<&linspace, kCuda>("linspace");
  register_kernel<&cuda::one_hot, kCuda>("one_hot_of");
  register_kernel<&multinomial_faults, kCuda>("multinomial_faults");
  register_kernel<&multinomial_one, kCuda>("multinomial_one");
  register_kernel<&multinomial_many, kCuda>("multinomial_many");
  register_kernel<&cuda::frexp, kCuda>("frexp");
  register_kernel<&cuda::aminmax, kCuda>("aminmax_of");
  register_kernel<&quantiles, kCuda>("quantiles");
  register_kernel<&eye, kCuda>("eye");
  register_kernel<&eye_m, kCuda>("eye");
  register_kernel<&tril_indices, kCuda>("tril_indices");
  register_kernel<&triu_indices, kCuda>("triu_indices");
  register_kernel<[](const Tensor& self, int64_t diagonal) { return triangle(self, diagonal, false); }, kCuda>("tril");
  register_kernel<[](const Tensor& self, int64_t diagonal) { return triangle(self, diagonal, true); }, kCuda>("triu");
  register_kernel<&cuda::repeat, kCuda>("repeat");
  register_kernel<&constant_pad, kCuda>("constant_pad");
  register_kernel<&searchsorted, kCuda>("searchsorted");
  register_kernel<&cuda::isin, kCuda>("isin");
  register_kernel<&bincount, kCuda>("bincount");
  register_kernel<&histc, kCuda>("histc");
  register_kernel<&unique, kCuda>("unique");
  register_kernel<&unique_consecutive, kCuda>("unique_consecutive");
}

}  // namespace shim
