#pragma once
// CUDA on the host: streams, events, devices, library handles, errors. What the core knows comes from the stable C ABI.
#include <cuda.h>
#include <cuda_runtime.h>
#if __has_include(<cublas_v2.h>)
#include <cublas_v2.h>
#endif
#if __has_include(<cublasLt.h>)
#include <cublasLt.h>
#endif
#if __has_include(<cusparse.h>)
#include <cusparse.h>
#endif
#if __has_include(<cusolverDn.h>)
#include <cusolverDn.h>
#endif

#include <atomic>

#include <shim/modes.h>
#include <shim/tensor_info.h>

extern "C" int32_t aoti_torch_get_current_cuda_stream(int32_t, void**);
extern "C" int32_t torch_set_current_cuda_stream(void*, int32_t);
extern "C" int32_t torch_get_cuda_stream_from_pool(bool, int32_t, void**);
extern "C" int32_t torch_get_current_cuda_blas_handle(void**);
extern "C" int32_t torch_c10_cuda_check_msg(int32_t, const char*, const char*, uint32_t, bool, char**);
extern "C" void torch_c10_cuda_free_error_msg(char*);
extern "C" int32_t aoti_torch_cuda_caching_allocator_raw_alloc(uint64_t, void**);
extern "C" int32_t aoti_torch_cuda_caching_allocator_raw_delete(void*);

namespace shim {
[[noreturn]] inline void throw_cuda(cudaError_t error, const char* file, const char* function, uint32_t line) {
  char* message = nullptr;
  torch_c10_cuda_check_msg(int32_t(error), file, function, line, true, &message);
  const std::string text = message ? message : cudaGetErrorString(error);
  torch_c10_cuda_free_error_msg(message);
  throw c10::AcceleratorError({function, file, line}, int(error), text);
}
}  // namespace shim
#define C10_CUDA_CHECK(expression)                                                                       \
  do {                                                                                                   \
    const cudaError_t shim_error_ = expression;                                                          \
    if (C10_UNLIKELY(shim_error_ != cudaSuccess))                                                        \
      ::shim::throw_cuda(shim_error_, __FILE__, static_cast<const char*>(__func__), uint32_t(__LINE__)); \
  } while (0)
#define C10_CUDA_CHECK_WARN(expression)                              \
  do {                                                               \
    const cudaError_t shim_error_ = expression;                      \
    if (C10_UNLIKELY(shim_error_ != cudaSuccess)) {                  \
      (void)cudaGetLastError();                                      \
      TORCH_WARN("CUDA warning: ", cudaGetErrorString(shim_error_)); \
    }                                                                \
  } while (0)
#define C10_CUDA_KERNEL_LAUNCH_CHECK() C10_CUDA_CHECK(cudaGetLastError())
#define C10_CUDA_ERROR_HANDLED(expression) expression
#define C10_CUDA_IGNORE_ERROR(expression) (void)(expression)
#define AT_CUDA_CHECK(expression) C10_CUDA_CHECK(expression)
#define AT_CUDA_DRIVER_CHECK(expression)                                                 \
  do {                                                                                   \
    const CUresult shim_result_ = expression;                                            \
    TORCH_CHECK(shim_result_ == CUDA_SUCCESS, "CUDA driver error: ", int(shim_result_)); \
  } while (0)
#define TORCH_CUDABLAS_CHECK(expression)                                                                \
  do {                                                                                                  \
    const cublasStatus_t shim_status_ = expression;                                                     \
    TORCH_CHECK(shim_status_ == CUBLAS_STATUS_SUCCESS, "CUDA error: cuBLAS status ", int(shim_status_), \
        " when calling `" #expression "`");                                                             \
  } while (0)
#define TORCH_CUDASPARSE_CHECK(expression)                                                                  \
  do {                                                                                                      \
    const cusparseStatus_t shim_status_ = expression;                                                       \
    TORCH_CHECK(shim_status_ == CUSPARSE_STATUS_SUCCESS, "CUDA error: cuSPARSE status ", int(shim_status_), \
        " when calling `" #expression "`");                                                                 \
  } while (0)

namespace c10 {
namespace cuda {

class CUDAStream {
 public:
  enum Unchecked { UNCHECKED };
  explicit CUDAStream(Stream s) : stream_(s) {
    TORCH_CHECK(s.device_type() == kCUDA, "CUDAStream is for CUDA devices, but got ", s.device());
  }
  CUDAStream(Unchecked, Stream s) : stream_(s) {}
  operator cudaStream_t() const { return stream(); }
  operator Stream() const { return stream_; }
  cudaStream_t stream() const { return static_cast<cudaStream_t>(stream_.native_handle()); }
  Stream unwrap() const { return stream_; }
  StreamId id() const { return stream_.id(); }
  Device device() const { return stream_.device(); }
  DeviceIndex device_index() const { return stream_.device_index(); }
  DeviceType device_type() const { return kCUDA; }
  bool query() const {
    CUDAGuard guard(device());
    const cudaError_t error = cudaStreamQuery(stream());
    if (error == cudaSuccess) return true;
    if (error != cudaErrorNotReady) C10_CUDA_CHECK(error);
    (void)cudaGetLastError();
    return false;
  }
  void synchronize() const {
    OptionalLocked others_run;
    CUDAGuard guard(device());
    C10_CUDA_CHECK(cudaStreamSynchronize(stream()));
  }
  int priority() const {
    int p = 0;
    C10_CUDA_CHECK(cudaStreamGetPriority(stream(), &p));
    return p;
  }
  bool operator==(const CUDAStream& o) const { return stream_ == o.stream_; }
  bool operator!=(const CUDAStream& o) const { return stream_ != o.stream_; }

 private:
  Stream stream_;
};
inline std::ostream& operator<<(std::ostream& out, const CUDAStream& s) { return out << s.unwrap(); }

inline DeviceIndex device_count() noexcept {
  int n = 0;
  if (cudaGetDeviceCount(&n) != cudaSuccess) (void)cudaGetLastError(), n = 0;
  return DeviceIndex(n);
}
inline DeviceIndex current_device() { return shim::cuda_device(); }
inline void set_device(DeviceIndex i) { shim::set_cuda_device(i); }
inline DeviceIndex device_count_ensure_non_zero() {
  int n = 0;
  C10_CUDA_CHECK(cudaGetDeviceCount(&n));
  TORCH_CHECK(n > 0, "No CUDA GPUs are available");
  return DeviceIndex(n);
}
// These leave errors to the caller, as cudaSetDevice() does. A negative index changes nothing.
inline cudaError_t SetDevice(DeviceIndex i, bool = false) { return i < 0 ? cudaSuccess : cudaSetDevice(i); }
inline cudaError_t MaybeSetDevice(DeviceIndex i) { return SetDevice(i); }
inline cudaError_t GetDeviceCount(int* n) { return cudaGetDeviceCount(n); }
inline cudaError_t GetDevice(DeviceIndex* i) {
  int now = -1;
  const cudaError_t error = cudaGetDevice(&now);
  *i = DeviceIndex(now);
  return error;
}
inline DeviceIndex ExchangeDevice(DeviceIndex i) {  // what it was
  const DeviceIndex before = current_device();
  if (i >= 0 && i != before) set_device(i);
  return before;
}
inline DeviceIndex MaybeExchangeDevice(DeviceIndex i) { return ExchangeDevice(i); }
inline void device_synchronize() {
  OptionalLocked others_run;
  C10_CUDA_CHECK(cudaDeviceSynchronize());
}
inline CUDAStream getStreamFromExternal(cudaStream_t s, DeviceIndex i) {
  return CUDAStream(Stream(Stream::UNSAFE, {kCUDA, i}, reinterpret_cast<StreamId>(s)));
}
inline CUDAStream getCurrentCUDAStream(DeviceIndex i = -1) {
  void* s = nullptr;
  if (i < 0) i = current_device();
  shim::check_stable(aoti_torch_get_current_cuda_stream(i, &s));
  return getStreamFromExternal(static_cast<cudaStream_t>(s), i);
}
inline CUDAStream getDefaultCUDAStream(DeviceIndex i = -1) {
  return getStreamFromExternal(nullptr, i < 0 ? current_device() : i);
}
inline void setCurrentCUDAStream(CUDAStream s) {
  shim::check_stable(torch_set_current_cuda_stream(s.stream(), s.device_index()));
}
inline CUDAStream getStreamFromPool(bool high_priority = false, DeviceIndex i = -1) {
  void* s = nullptr;
  if (i < 0) i = current_device();
  shim::check_stable(torch_get_cuda_stream_from_pool(high_priority, i, &s));
  return getStreamFromExternal(static_cast<cudaStream_t>(s), i);
}
inline CUDAStream getStreamFromPool(int priority, DeviceIndex i = -1) { return getStreamFromPool(priority < 0, i); }

class OptionalCUDAStreamGuard {  // the stream and its device are the current ones
 public:
  OptionalCUDAStreamGuard() = default;
  explicit OptionalCUDAStreamGuard(Stream s) { reset_stream(s); }
  explicit OptionalCUDAStreamGuard(std::optional<Stream> s) {
    if (s) reset_stream(*s);
  }
  OptionalCUDAStreamGuard(const OptionalCUDAStreamGuard&) = delete;
  ~OptionalCUDAStreamGuard() { reset(); }
  void reset_stream(Stream s) {
    reset();
    device_.set(s.device_index());
    before_ = getCurrentCUDAStream(s.device_index());
    now_ = CUDAStream(s);
    setCurrentCUDAStream(*now_);
  }
  void reset() {
    if (before_) torch_set_current_cuda_stream(before_->stream(), before_->device_index());
    before_.reset();
    now_.reset();
    device_.restore();
  }
  std::optional<CUDAStream> original_stream() const { return before_; }
  std::optional<CUDAStream> current_stream() const { return now_; }

 private:
  shim::CurrentDevice device_;
  std::optional<CUDAStream> before_, now_;
};
class CUDAStreamGuard {
 public:
  explicit CUDAStreamGuard(Stream s) : guard_(s) {}
  void reset_stream(Stream s) { guard_.reset_stream(s); }
  CUDAStream original_stream() const { return *guard_.original_stream(); }
  CUDAStream current_stream() const { return *guard_.current_stream(); }
  Device original_device() const { return original_stream().device(); }
  Device current_device() const { return current_stream().device(); }

 private:
  OptionalCUDAStreamGuard guard_;
};

namespace CUDACachingAllocator {
inline void* raw_alloc(size_t bytes) {
  void* p = nullptr;
  shim::check_stable(aoti_torch_cuda_caching_allocator_raw_alloc(bytes, &p));
  return p;
}
inline void raw_delete(void* p) { shim::check_stable(aoti_torch_cuda_caching_allocator_raw_delete(p)); }
}  // namespace CUDACachingAllocator

}  // namespace cuda
}  // namespace c10

namespace at {
namespace cuda {
using namespace c10::cuda;

inline bool is_available() { return device_count() > 0; }
inline int64_t getNumGPUs() { return device_count(); }
inline cudaDeviceProp* getDeviceProperties(DeviceIndex i) {  // read once a device
  static std::array<std::atomic<cudaDeviceProp*>, 128> known{};
  TORCH_CHECK(i >= 0 && i < device_count(), "CUDA has ", int(device_count()), " devices, and ", int(i), " is none");
  auto& one = known[size_t(i)];
  if (!one) {
    auto made = std::make_unique<cudaDeviceProp>();
    C10_CUDA_CHECK(cudaGetDeviceProperties(made.get(), i));
    cudaDeviceProp* none = nullptr;
    if (one.compare_exchange_strong(none, made.get())) made.release();
  }
  return one;
}
inline cudaDeviceProp* getCurrentDeviceProperties() { return getDeviceProperties(current_device()); }
inline int warp_size() { return getCurrentDeviceProperties()->warpSize; }
#if __has_include(<cublas_v2.h>)
inline cublasHandle_t getCurrentCUDABlasHandle() {  // on the current stream
  void* handle = nullptr;
  shim::check_stable(torch_get_current_cuda_blas_handle(&handle));
  return static_cast<cublasHandle_t>(handle);
}
#if __has_include(<cublasLt.h>)
inline cublasLtHandle_t getCurrentCUDABlasLtHandle() {  // cuBLAS documents the cast
  return reinterpret_cast<cublasLtHandle_t>(getCurrentCUDABlasHandle());
}
#endif
#endif
inline cudaDataType ScalarTypeToCudaDataType(ScalarType t) {
  switch (t) {
    case kByte: return CUDA_R_8U;
    case kChar: return CUDA_R_8I;
    case kInt: return CUDA_R_32I;
    case kLong: return CUDA_R_64I;
    case kShort: return CUDA_R_16I;
    case kHalf: return CUDA_R_16F;
    case kBFloat16: return CUDA_R_16BF;
    case kFloat: return CUDA_R_32F;
    case kDouble: return CUDA_R_64F;
    case ScalarType::ComplexHalf: return CUDA_C_16F;
    case ScalarType::ComplexFloat: return CUDA_C_32F;
    case ScalarType::ComplexDouble: return CUDA_C_64F;
    case ScalarType::Float8_e4m3fn: return CUDA_R_8F_E4M3;
    case ScalarType::Float8_e5m2: return CUDA_R_8F_E5M2;
    default: TORCH_CHECK(false, "Cannot convert ScalarType ", t, " to cudaDataType.")
  }
  return CUDA_R_32F;
}
template <class T> C10_HOST_DEVICE constexpr T ATenCeilDiv(T a, T b) { return (a + b - 1) / b; }
}  // namespace cuda
}  // namespace at
namespace torch {
namespace cuda {
using c10::cuda::CUDAStream;
using c10::cuda::getCurrentCUDAStream;
}  // namespace cuda
}  // namespace torch
