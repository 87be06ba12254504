// What kernels and their hosts use of CUDA's headers.
#include <ATen/ATen.h>
#include <ATen/cuda/ApplyGridUtils.cuh>
#include <ATen/cuda/Atomic.cuh>
#include <ATen/cuda/CUDAContext.h>
#include <ATen/cuda/CUDADataType.h>
#include <ATen/cuda/CUDAEvent.h>
#include <ATen/cuda/CUDAGeneratorImpl.h>
#include <ATen/cuda/DeviceUtils.cuh>
#include <ATen/cuda/NumericLimits.cuh>
#include <ATen/cuda/PhiloxUtils.cuh>
#include <ATen/cuda/detail/IndexUtils.cuh>
#include <ATen/cuda/detail/KernelUtils.h>
#include <ATen/cuda/detail/TensorInfo.cuh>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAGuard.h>
#include <THC/THCAtomics.cuh>
#include <c10/cuda/CUDAStream.h>
#include <torch/types.h>

template <class T> __global__ void axpy(T* y, const T* x, float a, int n) {
  CUDA_KERNEL_LOOP(i, n) { y[i] = T(a) * __ldg(x + i) + y[i]; }
}
template <class T> __global__ void sum_atomically(T* sum, const T* x, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) gpuAtomicAdd(sum, x[i]);
}
template <class T> __global__ void warp_sum(T* out, const T* x) {
  T v = x[threadIdx.x];
  for (int lanes = 16; lanes; lanes /= 2) v = v + WARP_SHFL_XOR(v, lanes);
  if (threadIdx.x == 0) *out = v;
}
__global__ void complex_numbers(c10::complex<float>* z, int n) {
  CUDA_KERNEL_LOOP(i, n) { z[i] = 2.0f * z[i] * std::conj(z[i]) / c10::complex<float>(0, 2) + 1.0f; }
}
__global__ void drawn(at::PhiloxCudaState philox, int64_t* out) {  // where curand_init() would start
  const auto seeds = at::cuda::philox::unpack(philox);
  out[0] = int64_t(std::get<0>(seeds));
  out[1] = int64_t(std::get<1>(seeds));
}
template <class scalar_t>
__global__ void diagonal(torch::PackedTensorAccessor32<scalar_t, 2, torch::RestrictPtrTraits> a, scalar_t* out) {
  out[threadIdx.x] = a[threadIdx.x][threadIdx.x];
}
namespace indices = at::cuda::detail;
template <class T, int Dims> __global__ void largest(indices::TensorInfo<T, int> x, int n, T* out) {
  *out = at::numeric_limits<T>::lower_bound();
  for (int i = 0; i < n; ++i) {
    const T v = x.data[indices::IndexToOffset<T, int, Dims>::get(i, x)];
    if (v > *out) *out = v;
    if (v > at::numeric_limits<T>::max()) *out = at::numeric_limits<T>::lowest();
  }
}

at::Tensor cuda_axpy(const at::Tensor& x, at::Tensor y, double a) {
  TORCH_CHECK(x.is_cuda() && y.is_cuda(), "x and y must be CUDA tensors");
  const at::cuda::CUDAGuard guard(x.device());
  const auto stream = at::cuda::getCurrentCUDAStream();
  AT_DISPATCH_FLOATING_TYPES_AND2(at::kHalf, at::kBFloat16, x.scalar_type(), "cuda_axpy", [&] {
    axpy<scalar_t><<<2, 64, 0, stream>>>(y.data_ptr<scalar_t>(), x.data_ptr<scalar_t>(), float(a), int(x.numel()));
  });
  C10_CUDA_KERNEL_LAUNCH_CHECK();
  return y;
}
at::Tensor cuda_sums(const at::Tensor& x) {
  auto sums = at::zeros({2}, x.options());
  AT_DISPATCH_ALL_TYPES_AND2(at::kHalf, at::kBFloat16, x.scalar_type(), "cuda_sums", [&] {
    auto* p = x.data_ptr<scalar_t>();
    sum_atomically<scalar_t><<<1, 32, 0, at::cuda::getCurrentCUDAStream()>>>(sums.data_ptr<scalar_t>(), p, 32);
    if constexpr (std::is_floating_point_v<scalar_t>)
      warp_sum<scalar_t><<<1, 32, 0, at::cuda::getCurrentCUDAStream()>>>(sums.data_ptr<scalar_t>() + 1, p);
  });
  AT_CUDA_CHECK(cudaGetLastError());
  return sums;
}
at::Tensor cuda_complex(at::Tensor z) {
  complex_numbers<<<1, 32, 0, at::cuda::getCurrentCUDAStream()>>>(z.data_ptr<c10::complex<float>>(), int(z.numel()));
  return z;
}
at::Tensor cuda_drawn(int64_t n, std::optional<at::Generator> generator) {
  auto* g = at::get_generator_or_default<at::CUDAGeneratorImpl>(generator, at::cuda::detail::getDefaultCUDAGenerator());
  at::PhiloxCudaState state;
  {
    std::lock_guard<std::mutex> lock(g->mutex_);
    state = g->philox_cuda_state(uint64_t(n));
  }
  auto out = at::empty({2}, at::dtype(at::kLong).device(at::kCUDA));
  drawn<<<1, 1, 0, at::cuda::getCurrentCUDAStream()>>>(state, out.data_ptr<int64_t>());
  return out;
}
at::Tensor cuda_diagonal(const at::Tensor& a) {
  auto out = at::empty({a.size(0)}, a.options());
  AT_DISPATCH_FLOATING_TYPES(a.scalar_type(), "cuda_diagonal", [&] {
    diagonal<scalar_t><<<1, int(a.size(0)), 0, at::cuda::getCurrentCUDAStream()>>>(
        a.packed_accessor32<scalar_t, 2, torch::RestrictPtrTraits>(), out.data_ptr<scalar_t>());
  });
  return out;
}
at::Tensor cuda_largest(const at::Tensor& x) {
  auto out = at::empty({2}, x.options());
  AT_DISPATCH_ALL_TYPES_AND2(at::kHalf, at::kBFloat16, x.scalar_type(), "cuda_largest", [&] {
    auto info = indices::getTensorInfo<scalar_t, int>(x);
    auto* p = out.data_ptr<scalar_t>();
    largest<scalar_t, -1><<<1, 1, 0, at::cuda::getCurrentCUDAStream()>>>(info, int(x.numel()), p);
    info.collapseDims();
    if (info.dims == 1)
      largest<scalar_t, 1><<<1, 1, 0, at::cuda::getCurrentCUDAStream()>>>(info, int(x.numel()), p + 1);
    else
      largest<scalar_t, 2><<<1, 1, 0, at::cuda::getCurrentCUDAStream()>>>(info, int(x.numel()), p + 1);
  });
  C10_CUDA_KERNEL_LAUNCH_CHECK();
  return out;
}
void cuda_bad_launch() {
  axpy<float><<<1, 4096>>>(nullptr, nullptr, 0, 0);
  C10_CUDA_KERNEL_LAUNCH_CHECK();
}
std::vector<int64_t> cuda_streams() {
  const auto before = at::cuda::getCurrentCUDAStream();
  const auto other = at::cuda::getStreamFromPool(true);
  at::cuda::CUDAEvent event;
  int64_t within, same;
  {
    at::cuda::CUDAStreamGuard guard(other);
    within = at::cuda::getCurrentCUDAStream() == other;
    event.record(other);
  }
  event.block(before);
  event.synchronize();
  same = at::cuda::getCurrentCUDAStream() == before;
  const auto external = at::cuda::getStreamFromExternal(other.stream(), other.device_index());
  return {
      within, same, event.query(), external.stream() == other.stream(), before.device_index(), other.priority() < 0};
}
std::vector<int64_t> cuda_device() {
  const auto* p = at::cuda::getCurrentDeviceProperties();
  const at::cuda::OptionalCUDAGuard guard(device_of(at::empty({1}, at::kCUDA)));
  c10::DeviceIndex found = -1;
  AT_CUDA_CHECK(c10::cuda::MaybeSetDevice(c10::cuda::current_device()));
  AT_CUDA_CHECK(c10::cuda::GetDevice(&found));
  TORCH_CHECK(c10::cuda::ExchangeDevice(found) == found && c10::cuda::device_count_ensure_non_zero() > found);
  return {
      p->major, p->warpSize, c10::cuda::current_device(), c10::cuda::device_count() > 0, at::globalContext().hasCUDA()};
}
int64_t cuda_wide(int64_t n) { return at::cuda::ATenCeilDiv<int64_t>(n, 3); }
int64_t cuda_stream_now() { return reinterpret_cast<int64_t>(at::cuda::getCurrentCUDAStream().stream()); }
#if __has_include(<cublas_v2.h>)
at::Tensor cuda_product(const at::Tensor& a, const at::Tensor& b) {  // column by column: b' a' = (a b)'
  auto c = at::empty({a.size(0), b.size(1)}, a.options());
  const float one = 1, zero = 0;
  const int m = int(a.size(0)), k = int(a.size(1)), n = int(b.size(1));
  TORCH_CUDABLAS_CHECK(cublasGemmEx(at::cuda::getCurrentCUDABlasHandle(), CUBLAS_OP_N, CUBLAS_OP_N, n, m, k, &one,
      b.data_ptr(), at::cuda::ScalarTypeToCudaDataType(b.scalar_type()), n, a.data_ptr(),
      at::cuda::ScalarTypeToCudaDataType(a.scalar_type()), k, &zero, c.data_ptr(),
      at::cuda::ScalarTypeToCudaDataType(c.scalar_type()), n, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT));
  return c;
}
#endif
