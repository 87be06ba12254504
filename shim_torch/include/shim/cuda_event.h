#pragma once
// Events: at::cuda::CUDAEvent, made when it is first recorded, and c10::Event (torch::Event).
#include <shim/cuda.h>

namespace at {
namespace cuda {

class CUDAEvent {
 public:
  explicit CUDAEvent(unsigned flags = cudaEventDisableTiming) : flags_(flags) {}
  CUDAEvent(const CUDAEvent&) = delete;
  CUDAEvent& operator=(const CUDAEvent&) = delete;
  CUDAEvent(CUDAEvent&& o) noexcept { *this = std::move(o); }
  CUDAEvent& operator=(CUDAEvent&& o) noexcept {
    std::swap(flags_, o.flags_);
    std::swap(event_, o.event_);
    std::swap(device_, o.device_);
    std::swap(recorded_, o.recorded_);
    return *this;
  }
  ~CUDAEvent() {
    if (event_) cudaEventDestroy(event_);
  }
  operator cudaEvent_t() const { return event_; }
  cudaEvent_t event() const { return event_; }
  bool isCreated() const { return event_ != nullptr; }
  DeviceIndex device_index() const { return device_; }
  std::optional<Device> device() const { return event_ ? std::optional<Device>(Device(kCUDA, device_)) : std::nullopt; }
  void record() { record(getCurrentCUDAStream()); }
  void recordOnce(const CUDAStream& s) {
    if (!recorded_) record(s);
  }
  void record(const CUDAStream& s) {
    CUDAGuard guard(s.device());
    if (!event_) {
      C10_CUDA_CHECK(cudaEventCreateWithFlags(&event_, flags_));
      device_ = s.device_index();
    }
    TORCH_CHECK(device_ == s.device_index(), "Event device ", int(device_),
        " does not match recording stream's device ", int(s.device_index()), ".");
    C10_CUDA_CHECK(cudaEventRecord(event_, s.stream()));
    recorded_ = true;
  }
  void block(const CUDAStream& s) const {
    if (!event_) return;
    CUDAGuard guard(s.device());
    C10_CUDA_CHECK(cudaStreamWaitEvent(s.stream(), event_, 0));
  }
  bool query() const {
    if (!event_) return true;
    const cudaError_t error = cudaEventQuery(event_);
    if (error == cudaSuccess) return true;
    if (error != cudaErrorNotReady) C10_CUDA_CHECK(error);
    (void)cudaGetLastError();
    return false;
  }
  void synchronize() const {
    OptionalLocked others_run;
    if (event_) C10_CUDA_CHECK(cudaEventSynchronize(event_));
  }
  float elapsed_time(const CUDAEvent& other) const {
    TORCH_CHECK(event_ && other.event_, "Both events must be recorded before calculating elapsed time.");
    float ms = 0;
    C10_CUDA_CHECK(cudaEventElapsedTime(&ms, event_, other.event_));
    return ms;
  }

 private:
  unsigned flags_ = cudaEventDisableTiming;
  cudaEvent_t event_ = nullptr;
  DeviceIndex device_ = -1;
  bool recorded_ = false;
};

}  // namespace cuda
}  // namespace at
namespace c10 {
enum class EventFlag { PYTORCH_DEFAULT, BACKEND_DEFAULT };
class Event {  // of CUDA: an Event of another device cannot be made
 public:
  explicit Event(DeviceType type, EventFlag flag = EventFlag::PYTORCH_DEFAULT)
      : event_(flag == EventFlag::PYTORCH_DEFAULT ? cudaEventDisableTiming : cudaEventDefault) {
    TORCH_CHECK_NOT_IMPLEMENTED(type == kCUDA, "Event: shim-torch has events of CUDA only, but got ", type);
  }
  DeviceType device_type() const { return kCUDA; }
  DeviceIndex device_index() const { return event_.device_index(); }
  void record(const Stream& s) { event_.record(cuda::CUDAStream(s)); }
  void recordOnce(const Stream& s) { event_.recordOnce(cuda::CUDAStream(s)); }
  void block(const Stream& s) const { event_.block(cuda::CUDAStream(s)); }
  bool query() const { return event_.query(); }
  void synchronize() const { event_.synchronize(); }
  double elapsedTime(const Event& other) const { return event_.elapsed_time(other.event_); }
  void* eventId() const { return event_.event(); }

 private:
  at::cuda::CUDAEvent event_;
};
}  // namespace c10
namespace torch {
using c10::Event;
using c10::EventFlag;
}  // namespace torch
