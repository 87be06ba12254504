// Kernels of CUDA tensors for the operators of images: pools, other sizes, sampling at the places of a grid, columns of windows.
#include <string>

#include "cuda/image_rearrange.h"
#include "cuda/images.h"
#include "cuda/pooling.h"
#include "cuda/upsample.h"
#include "kernels/call.h"
#include "kernels/registry.h"

namespace shim {
namespace {

// Its form with a factor a dim, and the one with all of them in a list (overload vec).
template <cuda::Stretching how, int n> void register_upsampling(const std::string& name) {
  static constexpr cuda::Upsampling what{how, n};
  using By = cuda::Upsample<std::make_index_sequence<size_t(n)>>;
  const std::string vec = name + "_vec";
  if constexpr (how == cuda::Stretching::linear || how == cuda::Stretching::cubic) {
    register_kernel<&By::aligned, kCudaWithoutHistory>(name.c_str(), &what);
    register_kernel<&cuda::upsample_aligned_vec, kCudaWithoutHistory>(vec.c_str(), &what);
  } else {
    register_kernel<&By::plain, kCudaWithoutHistory>(name.c_str(), &what);
    register_kernel<&cuda::upsample_vec, kCudaWithoutHistory>(vec.c_str(), &what);
  }
}

void register_upsamplings() {
  using enum cuda::Stretching;
  register_upsampling<nearest, 1>("upsample_nearest1d");
  register_upsampling<nearest, 2>("upsample_nearest2d");
  register_upsampling<nearest, 3>("upsample_nearest3d");
  register_upsampling<nearest_exact, 1>("_upsample_nearest_exact1d");
  register_upsampling<nearest_exact, 2>("_upsample_nearest_exact2d");
  register_upsampling<nearest_exact, 3>("_upsample_nearest_exact3d");
  register_upsampling<linear, 1>("upsample_linear1d");
  register_upsampling<linear, 2>("upsample_bilinear2d");
  register_upsampling<linear, 3>("upsample_trilinear3d");
  register_upsampling<cubic, 2>("upsample_bicubic2d");
}

void register_pools() {
  using namespace cuda;
  static constexpr int dims[] = {1, 2, 3};
  for (const int& n : dims) {
    const std::string d = std::to_string(n) + "d";
    register_kernel<&max_pool_with_indices, kCuda>(("max_pool" + d + "_with_indices").c_str(), &n);
    register_kernel<&max_pool, kCudaWithoutHistory>(("max_pool" + d).c_str(), &n);
    register_kernel<&adaptive_max_pool, kCuda>(("adaptive_max_pool" + d).c_str(), &n);
    register_kernel<&adaptive_avg_pool, kCudaWithoutHistory>(("adaptive_avg_pool" + d).c_str(), &n);
    register_kernel<&avg_pool, kCudaWithoutHistory>(("avg_pool" + d).c_str(), &n);
  }
  register_kernel<[](PooledDims n, const Tensor& self, IntArrayRef kernel, IntArrayRef stride, IntArrayRef padding,
                      bool ceil_mode, bool count_include_pad) {
    return avg_pool(n, self, kernel, stride, padding, ceil_mode, count_include_pad, std::nullopt);
  },
      kCudaWithoutHistory>("avg_pool1d", &dims[0]);
  register_kernel<&mean_pool, kCuda>("mean_pool");
  register_kernel<&mean_pool_backward, kCuda>("mean_pool_backward");
}

}  // namespace

void register_cuda_image_kernels() {
  register_upsamplings();
  register_pools();
  register_kernel<&cuda::resample_dim, kCuda>("weighted_taps");
  register_kernel<&cuda::nearest, kCuda>("nearest");
  register_kernel<&cuda::nearest_slope, kCuda>("nearest_backward");
  register_kernel<&cuda::sample_grid, kCudaWithoutHistory>("grid_sampler");
  register_kernel<&cuda::sample_grid, kCuda>("sample_grid");
  register_kernel<&cuda::sample_grid_backward, kCuda>("sample_grid_backward");
  register_kernel<&cuda::im2col, kCuda>("im2col");
  register_kernel<&cuda::col2im, kCuda>("col2im");
  register_kernel<&cuda::shuffle_pixels, kCuda>("shuffle_pixels");
  register_kernel<&cuda::reflect_replicate_pad, kCuda>("reflect_replicate_pad");
  register_kernel<&cuda::reflect_replicate_pad_backward, kCuda>("reflect_replicate_pad_backward");
  register_kernel<&cuda::affine_grid, kCuda>("affine_grid");
  register_kernel<&cuda::affine_grid_backward, kCuda>("affine_grid_backward");
}

}  // namespace shim
