// The Python module of cuda.cu, and CUDA's headers where nvcc does not compile.
#include <ATen/cuda/CUDAContext.h>
#include <c10/cuda/CUDAGuard.h>
#include <torch/extension.h>

at::Tensor cuda_axpy(const at::Tensor&, at::Tensor, double);
at::Tensor cuda_sums(const at::Tensor&);
at::Tensor cuda_complex(at::Tensor);
at::Tensor cuda_drawn(int64_t, std::optional<at::Generator>);
at::Tensor cuda_diagonal(const at::Tensor&);
at::Tensor cuda_largest(const at::Tensor&);
void cuda_bad_launch();
std::vector<int64_t> cuda_streams();
std::vector<int64_t> cuda_device();
int64_t cuda_wide(int64_t);
int64_t cuda_stream_now();
at::Tensor cuda_product(const at::Tensor&, const at::Tensor&);

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
  m.def("axpy", &cuda_axpy);
  m.def("sums", &cuda_sums);
  m.def("complex", &cuda_complex);
  m.def("drawn", &cuda_drawn, py::arg("n"), py::arg("generator") = py::none());
  m.def("diagonal", &cuda_diagonal);
  m.def("largest", &cuda_largest);
  m.def("bad_launch", &cuda_bad_launch);
  m.def("streams", &cuda_streams);
  m.def("device", &cuda_device);
  m.def("stream_now", &cuda_stream_now);
#if __has_include(<cublas_v2.h>)
  m.def("product", &cuda_product);
#endif
  m.def("check", [](bool fail) { C10_CUDA_CHECK(fail ? cudaErrorInvalidValue : cudaSuccess); });
  m.def("wide", &cuda_wide);
}
