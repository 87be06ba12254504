#include "cuda/driver.h"

#include <dlfcn.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <mutex>

#include "cuda/backward_streams.h"
#include "cuda/device_failure.h"

namespace shim::cuda {
namespace {

struct Loaded {
  Driver table;
  std::mutex lock;
  Loaded();
};

Loaded::Loaded() {
  table.ctx_get = [](CUcontext*) {
    return CUresult(3);
  };  // CUDA_ERROR_NOT_INITIALIZED: OnDevice asks first and then says why
  void* library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    table.why = "libcuda.so.1 could not be loaded: there is no NVIDIA driver on this machine";
    return;
  }
#define SHIM_LOAD(member, symbol, types) table.member = reinterpret_cast<CUresult(*) types>(dlsym(library, #symbol));
  SHIM_CUDA_DRIVER(SHIM_LOAD)
#undef SHIM_LOAD
  if (!table.init || !table.device_count || !table.mem_alloc_async || !table.capture_begin) {
    table.why = "libcuda.so.1 is too old: CUDA 11.4 or newer is needed";
    return;
  }
  CUresult r = table.init(0);
  int count = 0;
  if (r == 0) r = table.device_count(&count);
  if (r != 0 || count == 0) {
    table.why = r == kNoDevice || count == 0 ? "no CUDA-capable device is detected"
                                             : "cuInit failed with error " + std::to_string(r);
    return;
  }
  table.loaded = true;
  table.devices = std::min(count, kMostDevices);
  several_devices = table.devices > 1;
}

Loaded& loaded() {
  static Loaded* l = new Loaded();  // immortal: storage may be freed while the process exits
  return *l;
}

struct OfThread {  // one object, whose place is asked for once a function
  int device = 0;
  uint64_t asked = 0;             // a bit a device: current_stream() was
  CUstream chosen[kMostDevices];  // null: the default one
  CUstream used[kMostDevices];    // as current_stream() said last
};
constinit thread_local OfThread mine = {};
intptr_t (*cupy_stream)(int) = nullptr;

}  // namespace

const Driver& load_driver() {
  const Driver& table = loaded().table;
  driver_in_use.store(&table, std::memory_order_release);
  return table;
}

const Driver& require(const char* function) {
  const Driver& d = driver();
  if (!d.loaded)
    fail(Kind::Runtime, function, ": Found no NVIDIA driver on your system or no GPU. ", d.why,
        ". Use device='cpu', or run on a machine with an NVIDIA GPU and driver.");
  return d;
}

std::string describe(CUresult r, const char* what) {
  const char *name = "unknown", *text = "";
  if (driver().error_name) driver().error_name(r, &name);
  if (driver().error_string) driver().error_string(r, &text);
  return str(text, " (", name, " in ", what, ")");
}

void check(CUresult r, const char* what) {
  if (r == 0) return;
  if (breaks_context(r)) raise_failure(r, what);
  throw Error(Kind::Accelerator, "CUDA error: " + describe(r, what), r);
}

int device_count() { return driver().devices; }

CUcontext primary_context(int index) {
  const Driver& d = require("torch.cuda");
  Loaded& l = loaded();
  CHECK(Kind::Runtime, index >= 0 && index < d.devices, "CUDA error: invalid device ordinal ", index, "; there are ",
      d.devices, " devices");
  std::atomic<CUcontext>& kept = contexts_in_use[index];
  if (CUcontext known = kept.load(std::memory_order_acquire)) return known;
  std::lock_guard<std::mutex> guard(l.lock);
  if (!kept.load()) {
    CUdevice device = 0;
    CUcontext made = nullptr;
    check(d.device_get(&device, index), "cuDeviceGet");
    check(d.primary_retain(&made, device), "cuDevicePrimaryCtxRetain");
    kept.store(made, std::memory_order_release);
  }
  return kept.load();
}

// Another library (CuPy, JAX) may have made another context current on this thread: the driver is asked, 10 ns.
int current_device() {
  const Driver& d = driver();
  if (!d.loaded) return 0;
  CUcontext now = nullptr;
  CUdevice device = 0;
  if (d.ctx_get(&now) != 0 || !now || now == retained_context(mine.device)) return mine.device;
  return d.ctx_device(&device) == 0 ? device : mine.device;
}

void set_device(int index) {
  check(driver().ctx_set(primary_context(index)), "cuCtxSetCurrent");
  mine.device = index;
}

void OnDevice::enter(int device, CUcontext now) {
  if (!now) {  // a thread's first call: its device is made current for good
    set_device(mine.device);
    if (device == mine.device) return;
    now = primary_context(mine.device);
  }
  const CUcontext wanted = primary_context(device);
  if (wanted == now) return;
  check(driver().ctx_set(wanted), "cuCtxSetCurrent");
  before_ = now;
}

void OnDevice::leave() noexcept { driver().ctx_set(before_); }

void ensure_context() {
  const Driver& d = driver();
  CUcontext now = nullptr;
  if (!d.loaded || (d.ctx_get(&now) == 0 && now)) return;
  set_device(mine.device);
}

void use_cupy_stream_getter(intptr_t (*get)(int)) { cupy_stream = get; }

CUstream current_stream(int device) {
  if (device < 0) device = current_device();
  if (device >= kMostDevices) return nullptr;  // there is none of that number
  OfThread& t = mine;
  CUstream found = t.chosen[device];
  if (cupy_stream)  // else a stream of ours that this thread chose before CuPy was loaded
    if (const intptr_t stream = cupy_stream(device)) found = reinterpret_cast<CUstream>(stream);
  t.used[device] = found;
  t.asked |= uint64_t(1) << device;
  return found;
}

bool stream_used_last(int device, CUstream* stream) {
  if (unsigned(device) >= unsigned(kMostDevices) || !(mine.asked >> device & 1)) return false;
  *stream = mine.used[device];
  return true;
}

void set_current_stream(int device, CUstream stream) {
  if (device < 0) device = current_device();
  CHECK(Kind::Runtime, device < kMostDevices, "CUDA error: invalid device ordinal ", device);
  mine.chosen[device] = stream;
}

bool capturing(CUstream stream) {
  int status = 0;
  const Driver& d = driver();
  return d.loaded && d.stream_capturing(stream, &status) == 0 && status != 0;
}

bool capturing_now() { return driver().loaded && capturing(current_stream(current_device())); }

void fill_bytes(void* to, const void* element, int itemsize, size_t count, int device, CUstream stream) {
  if (!count) return;
  OnDevice current(device);
  const Driver& d = driver();
  CUdeviceptr p = reinterpret_cast<CUdeviceptr>(to);
  if (itemsize == 1)
    return check(d.memset_async(p, *static_cast<const uint8_t*>(element), count, stream), "cuMemsetD8Async");
  if (itemsize == 2)
    return check(d.memset16_async(p, *static_cast<const uint16_t*>(element), count, stream), "cuMemsetD16Async");
  check(d.memset32_async(p, *static_cast<const uint32_t*>(element), count, stream), "cuMemsetD32Async");
}

}  // namespace shim::cuda
