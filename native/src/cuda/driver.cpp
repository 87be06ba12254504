#include "cuda/driver.h"

#include <dlfcn.h>

#include <cstdlib>
#include <mutex>
#include <vector>

#include "cuda/device_failure.h"

namespace shim::cuda {
namespace {

struct Loaded {
  Driver table;
  std::vector<CUcontext> contexts;
  std::mutex lock;
  Loaded();
};

Loaded::Loaded() {
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
  table.devices = count;
  contexts.assign(size_t(count), nullptr);
}

Loaded& loaded() {
  static Loaded* l = new Loaded();  // immortal: storage may be freed while the process exits
  return *l;
}

thread_local int tls_device = 0;
thread_local bool tls_context = false;
thread_local std::vector<CUstream> tls_streams;
intptr_t (*cupy_stream)(int) = nullptr;

}  // namespace

const Driver& driver() { return loaded().table; }

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
  std::lock_guard<std::mutex> guard(l.lock);
  if (!l.contexts[size_t(index)]) {
    CUdevice device = 0;
    check(d.device_get(&device, index), "cuDeviceGet");
    check(d.primary_retain(&l.contexts[size_t(index)], device), "cuDevicePrimaryCtxRetain");
  }
  return l.contexts[size_t(index)];
}

// Another library (CuPy, JAX) may have made another context current on this thread: the driver is asked, 10 ns.
int current_device() {
  const Driver& d = driver();
  if (!d.loaded) return 0;
  CUcontext now = nullptr;
  CUdevice device = 0;
  if (d.ctx_get(&now) == 0 && now && d.ctx_device(&device) == 0) return device;
  return tls_device;
}

void set_device(int index) {
  check(driver().ctx_set(primary_context(index)), "cuCtxSetCurrent");
  tls_device = index;
  tls_context = true;
}

void restore_device(
    int index) noexcept {  // where the device failed the driver may refuse, and the failure is what counts
  driver().ctx_set(loaded().contexts[size_t(index)]);
  tls_device = index;
}

void ensure_context() {
  const Driver& d = driver();
  CUcontext now = nullptr;
  if (!d.loaded || (d.ctx_get(&now) == 0 && now)) return;
  set_device(tls_device);
}

void use_cupy_stream_getter(intptr_t (*get)(int)) { cupy_stream = get; }

CUstream current_stream(int device) {
  if (device < 0) device = current_device();
  if (cupy_stream)  // else a stream of ours that this thread chose before CuPy was loaded
    if (const intptr_t stream = cupy_stream(device)) return reinterpret_cast<CUstream>(stream);
  return size_t(device) < tls_streams.size() ? tls_streams[size_t(device)] : nullptr;
}

void set_current_stream(int device, CUstream stream) {
  if (device < 0) device = current_device();
  if (tls_streams.size() <= size_t(device)) tls_streams.resize(size_t(device) + 1, nullptr);
  tls_streams[size_t(device)] = stream;
}

bool capturing(CUstream stream) {
  int status = 0;
  const Driver& d = driver();
  return d.loaded && d.stream_capturing(stream, &status) == 0 && status != 0;
}

void copy_bytes(void* to, const void* from, size_t bytes, CUstream stream) {
  if (!bytes) return;
  ensure_context();
  check(driver().memcpy_async(reinterpret_cast<CUdeviceptr>(to), reinterpret_cast<CUdeviceptr>(from), bytes, stream),
      "cuMemcpyAsync");
}

// `later` waits for what `first`, a stream of `device`, holds now.
static void order(CUstream first, int device, CUstream later) {
  const Driver& d = driver();
  OnDevice current(device);
  CUevent event = nullptr;
  check(d.event_create(&event, 2 /* no timing */), "cuEventCreate");
  CUresult r = d.event_record(event, first);
  if (r == 0) r = d.stream_wait_event(later, event, 0);
  d.event_destroy(event);  // the driver keeps it until it is reached
  check(r, "cuStreamWaitEvent");
}

void copy_between(void* to, int to_device, const void* from, int from_device, size_t bytes) {
  if (!bytes) return;
  const CUstream reader = current_stream(from_device), writer = current_stream(to_device);
  order(writer, to_device, reader);
  {
    OnDevice current(from_device);
    copy_bytes(to, from, bytes, reader);  // on the source's stream: its memory is reused in that order
  }
  order(reader, from_device, writer);
}

void fill_bytes(void* to, const void* element, int itemsize, size_t count, CUstream stream) {
  if (!count) return;
  ensure_context();
  const Driver& d = driver();
  CUdeviceptr p = reinterpret_cast<CUdeviceptr>(to);
  if (itemsize == 1)
    return check(d.memset_async(p, *static_cast<const uint8_t*>(element), count, stream), "cuMemsetD8Async");
  if (itemsize == 2)
    return check(d.memset16_async(p, *static_cast<const uint16_t*>(element), count, stream), "cuMemsetD16Async");
  check(d.memset32_async(p, *static_cast<const uint32_t*>(element), count, stream), "cuMemsetD32Async");
}

}  // namespace shim::cuda
