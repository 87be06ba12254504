// The streams of backward passes: autograd/streams.h.
#include "autograd/streams.h"

#include <algorithm>
#include <mutex>
#include <shared_mutex>
#include <unordered_set>

#include "cuda/backward_streams.h"
#include "cuda/driver.h"

namespace shim::cuda {
namespace {

// Streams of torch.cuda.Stream's pool, which are never destroyed: a handle of another stream may be gone when backward comes to it.
struct Lasting {
  std::shared_mutex lock;
  std::unordered_set<CUstream> streams;
};
Lasting& lasting() {
  static auto* l = new Lasting();
  return *l;
}

bool lasts(CUstream stream) {
  if (!stream) return true;
  thread_local CUstream last = nullptr;  // known to
  if (stream == last) return true;
  std::shared_lock<std::shared_mutex> guard(lasting().lock);
  if (!lasting().streams.contains(stream)) return false;
  last = stream;
  return true;
}

bool of_forward(int device, void** stream) {
  CUstream used = nullptr;
  if (!stream_used_last(device, &used) || !lasts(used)) return false;
  *stream = used;
  return true;
}

void* record(int device, void* stream) {
  OnDevice current(device);
  CUevent event = nullptr;
  check(driver().event_create(&event, 2 /* no timing */), "cuEventCreate");
  const CUresult r = driver().event_record(event, static_cast<CUstream>(stream));
  if (r != 0) driver().event_destroy(event);
  check(r, "cuEventRecord");
  return event;
}

void wait(int device, void* stream, void* event) {
  OnDevice current(device);
  check(driver().stream_wait_event(static_cast<CUstream>(stream), static_cast<CUevent>(event), 0), "cuStreamWaitEvent");
}

}  // namespace

void remember_stream(CUstream stream) {
  std::lock_guard<std::shared_mutex> guard(lasting().lock);
  lasting().streams.insert(stream);
}

void install_backward_streams(void (*set_current)(int device, void* stream)) {
  stream_ops() = {.of_forward = of_forward,
      .current_device = current_device,
      .current = [](int device) -> void* { return current_stream(device); },
      .set_device = set_device,
      .set_current = set_current,
      .record = record,
      .wait = wait,
      .drop = [](void* event) { driver().event_destroy(static_cast<CUevent>(event)); },
      .keep = [](const Tensor& t, int device,
                  void* stream) { record_stream(*t->storage(), t->data(), static_cast<CUstream>(stream), device); }};
}

}  // namespace shim::cuda
