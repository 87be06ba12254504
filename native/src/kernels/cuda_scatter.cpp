// Kernels on CUDA that write to the places of an index.
#include "cuda/scatter.h"
#include "kernels/call.h"
#include "kernels/registry.h"

namespace shim {
void register_cuda_scatter() {
  using namespace cuda;
  register_kernel<&scatter, kCuda>("scatter_src", &kCopy);
  register_kernel<&scatter, kCuda>("scatter_src_", &kSelf);
  register_kernel<&scatter_value, kCuda>("scatter_value", &kCopy);
  register_kernel<&scatter_value, kCuda>("scatter_value_", &kSelf);
  register_kernel<&scatter_add, kCuda>("scatter_add", &kCopy);
  register_kernel<&scatter_add, kCuda>("scatter_add_", &kSelf);
  register_kernel<&scatter_reduce, kCuda>("scatter_reduce", &kCopy);
  register_kernel<&scatter_reduce, kCuda>("scatter_reduce_", &kSelf);
  register_kernel<&index_add, kCuda>("index_add", &kCopy);
  register_kernel<&index_add, kCuda>("index_add_", &kSelf);
  register_kernel<&index_copy, kCuda>("index_copy", &kCopy);
  register_kernel<&index_copy, kCuda>("index_copy_", &kSelf);
  register_kernel<&index_fill, kCuda>("index_fill", &kCopy);
  register_kernel<&index_fill, kCuda>("index_fill_", &kSelf);
  register_kernel<&index_reduce, kCuda>("index_reduce", &kCopy);
  register_kernel<&index_reduce, kCuda>("index_reduce_", &kSelf);
  register_kernel<&index_put, kCuda>("index_put_at", &kCopy);
  register_kernel<&index_put, kCuda>("index_put_at_", &kSelf);
  register_kernel<&masked_scatter, kCuda>("masked_scatter", &kCopy);
  register_kernel<&masked_scatter, kCuda>("masked_scatter_", &kSelf);
  register_kernel<&add_runs, kCuda>("add_runs", &kCopy);
  register_kernel<&add_runs, kCuda>("add_runs_", &kSelf);
}

}  // namespace shim
