#pragma once
// Streams by device and number, and guards of the current device; the CUDA runtime's headers are not needed.
#include <shim/options.h>

// Of the stable C ABI.
extern "C" int32_t aoti_torch_get_current_device_index(int32_t*);
extern "C" int32_t aoti_torch_cuda_guard_set_index(void*, int32_t);
extern "C" const char* torch_exception_get_what_without_backtrace();

namespace shim {
inline void check_stable(int32_t failed) {
  if (C10_UNLIKELY(failed)) throw c10::Error(SHIM_RUNTIME, torch_exception_get_what_without_backtrace());
}
inline c10::DeviceIndex cuda_device() {
  int32_t index = 0;
  check_stable(aoti_torch_get_current_device_index(&index));
  return c10::DeviceIndex(index);
}
inline void set_cuda_device(c10::DeviceIndex index) { check_stable(aoti_torch_cuda_guard_set_index(nullptr, index)); }
}  // namespace shim

namespace c10 {
using StreamId = int64_t;
class Stream {  // of CUDA: the number is the cudaStream_t
 public:
  enum Unsafe { UNSAFE };
  enum Default { DEFAULT };
  Stream(Unsafe, Device device, StreamId id) : device_(device), id_(id) {}
  Stream(Default, Device device) : device_(device), id_(0) {}
  Device device() const { return device_; }
  DeviceType device_type() const { return device_.type(); }
  DeviceIndex device_index() const { return device_.index(); }
  StreamId id() const { return id_; }
  void* native_handle() const { return reinterpret_cast<void*>(id_); }
  template <class E> void wait(const E& event) const { event.block(*this); }
  bool operator==(const Stream& o) const { return device_ == o.device_ && id_ == o.id_; }
  bool operator!=(const Stream& o) const { return !(*this == o); }

 private:
  Device device_;
  StreamId id_;
};
inline std::ostream& operator<<(std::ostream& out, const Stream& s) {
  return out << "stream " << s.id() << " on device " << s.device();
}
}  // namespace c10
namespace shim {
inline ShimCell cell(const c10::Stream& s) {
  return number_cell(SHIM_STREAM, s.id(), uint32_t(int32_t(s.device_index())));
}

class
    CurrentDevice {  // while this lives another CUDA device may be the current one; nothing happens where none is asked for
 public:
  CurrentDevice() = default;
  CurrentDevice(const CurrentDevice&) = delete;
  ~CurrentDevice() {
    if (before_ >= 0) aoti_torch_cuda_guard_set_index(nullptr, before_);
  }
  void set(c10::DeviceIndex index) {
    if (before_ < 0) before_ = cuda_device();
    if (index >= 0 && index != (now_ < 0 ? before_ : now_)) set_cuda_device(index);
    if (index >= 0) now_ = index;
  }
  void restore() {
    if (before_ >= 0) set_cuda_device(before_);
    before_ = now_ = -1;
  }
  bool used() const { return before_ >= 0; }
  c10::Device original() const { return {c10::kCUDA, before_}; }
  c10::Device current() const { return {c10::kCUDA, now_ < 0 ? before_ : now_}; }

 private:
  c10::DeviceIndex before_ = -1, now_ = -1;
};
}  // namespace shim

namespace c10 {
class DeviceGuard {  // of any device: the CPU has nothing to change
 public:
  explicit DeviceGuard(Device d) : first_(d) { set_device(d); }
  void set_device(Device d) {
    if (d.is_cuda()) device_.set(d.index());
  }
  void reset_device(Device d) { set_device(d); }
  void set_index(DeviceIndex i) { set_device({first_.type(), i}); }
  Device original_device() const { return device_.used() ? device_.original() : first_; }
  Device current_device() const { return device_.used() ? device_.current() : first_; }

 private:
  Device first_;
  shim::CurrentDevice device_;
};
class OptionalDeviceGuard {
 public:
  OptionalDeviceGuard() = default;
  explicit OptionalDeviceGuard(Device d) { reset_device(d); }
  explicit OptionalDeviceGuard(std::optional<Device> d) {
    if (d) reset_device(*d);
  }
  void reset_device(Device d) {
    if (d.is_cuda()) device_.set(d.index());
  }

 private:
  shim::CurrentDevice device_;
};
namespace cuda {
class CUDAGuard {
 public:
  explicit CUDAGuard(DeviceIndex i) { device_.set(i); }
  explicit CUDAGuard(Device d) { set_device(d); }
  void set_device(Device d) {
    TORCH_CHECK(d.is_cuda(), "CUDAGuard is for CUDA devices, but got ", d);
    device_.set(d.index());
  }
  void reset_device(Device d) { set_device(d); }
  void set_index(DeviceIndex i) { device_.set(i); }
  Device original_device() const { return device_.original(); }
  Device current_device() const { return device_.current(); }

 private:
  shim::CurrentDevice device_;
};
class OptionalCUDAGuard {
 public:
  OptionalCUDAGuard() = default;
  explicit OptionalCUDAGuard(std::optional<Device> d) {
    if (d) set_device(*d);
  }
  explicit OptionalCUDAGuard(std::optional<DeviceIndex> i) {
    if (i) device_.set(*i);
  }
  void set_device(Device d) {
    TORCH_CHECK(d.is_cuda(), "OptionalCUDAGuard is for CUDA devices, but got ", d);
    device_.set(d.index());
  }
  void set_index(DeviceIndex i) { device_.set(i); }
  void reset() { device_.restore(); }
  std::optional<Device> current_device() const {
    return device_.used() ? std::optional<Device>(device_.current()) : std::nullopt;
  }

 private:
  shim::CurrentDevice device_;
};
}  // namespace cuda
}  // namespace c10
namespace at {
namespace cuda {
using c10::cuda::CUDAGuard;
using c10::cuda::OptionalCUDAGuard;
}  // namespace cuda
}  // namespace at
