// A CUDA driver for machines without a GPU: device memory is host memory, everything happens at once, and kernels are our own
// CUDA sources compiled for the host (kernels.cpp, nvrtc.cpp). One device; only what the core calls.
#include <dlfcn.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "driver_graphs.h"
#include "driver_memory.h"
#include "kernel_folder.h"

extern "C" {

static thread_local void* current = nullptr;
static int context_object;

int cuInit(unsigned) { return 0; }
int cuDriverGetVersion(int* v) {
  *v = 13000;
  return 0;
}
int cuDeviceGetCount(int* n) {
  *n = 1;
  return 0;
}
int cuDeviceGet(int* d, int i) {
  *d = i;
  return 0;
}
int cuDeviceGetName(char* name, int n, int) {
  std::strncpy(name, "Simulated GPU", size_t(n));
  return 0;
}
int cuDeviceTotalMem_v2(size_t* n, int) {
  *n = size_t(1) << 34;
  return 0;
}
int cuDeviceGetAttribute(int* v, int attribute, int) {
  *v = attribute == 75 ? 9 : attribute == 76 ? 0 : 132;
  return 0;
}
int cuDevicePrimaryCtxRetain(void** c, int) {
  *c = &context_object;
  return 0;
}
int cuCtxSetCurrent(void* c) {
  current = c;
  return 0;
}
int cuCtxGetCurrent(void** c) {
  *c = current;
  return 0;
}
int cuCtxGetDevice(int* d) {
  *d = 0;
  return 0;
}
int cuCtxSynchronize() { return failure ? failure : make_copies(); }
int cuGetErrorName(int, const char** s) {
  *s = "SIMULATED";
  return 0;
}
int cuGetErrorString(int, const char** s) {
  *s = "simulated error";
  return 0;
}
int cuStreamCreateWithPriority(void** s, unsigned, int) {
  *s = std::malloc(1);
  return 0;
}
int cuStreamGetId(void* s, unsigned long long* id) {
  *id = reinterpret_cast<uintptr_t>(s) / 8;
  return 0;
}
int cuThreadExchangeStreamCaptureMode(int*) { return 0; }
int cuStreamSynchronize(void*) { return failure ? failure : make_copies(); }
int cuStreamQuery(void*) { return failure; }
int cuStreamWaitEvent(void*, void*, unsigned) { return 0; }
int cuStreamIsCapturing(void*, int* v) {
  *v = 0;
  return 0;
}
static long launches = 0, quick = 0;
void simulated_quick() { ++quick; }  // what runs now takes no time to speak of
static int attributes_seen = 0;
int simulated_attributes() { return attributes_seen; }
int cuLaunchKernelEx(const Config* c, Function* f, void** args, void** extra) {
  Graph* graph = recorded(c->stream);
  std::vector<void*> unpacked;
  if (!args)
    for (const Parameter& p : f->parameters) unpacked.push_back(static_cast<unsigned char*>(extra[1]) + p.offset);
  if (!graph) {
    launches += f->parameters.empty();  // our own kernels
    attributes_seen |= c->count ? 1 << c->attributes[0].id : 0;
    f->launch(f->name.c_str(), c->grid[0], c->grid[1], c->block[0], c->block[1], args ? args : unpacked.data());
    return 0;
  }
  auto* n = new Node();
  n->config = *c;
  n->function = f;
  n->attributes.assign(c->attributes, c->attributes + c->count);
  if (!args) {
    n->size = *static_cast<size_t*>(extra[3]);
    auto* from = static_cast<unsigned char*>(extra[1]);
    n->buffer.assign(from, from + n->size);
    void* all[] = {extra[0], n->buffer.data(), extra[2], &n->size, nullptr};
    std::memcpy(n->extra, all, sizeof all);
    graph->nodes.push_back(n);
    return 0;
  }
  for (size_t i = 0; i < f->parameters.size(); ++i) {
    auto* from = static_cast<unsigned char*>(args[i]);
    n->values.emplace_back(from, from + f->parameters[i].size);
  }
  for (auto& v : n->values) n->pointers.push_back(v.data());
  graph->nodes.push_back(n);
  return 0;
}
void* simulated_function(void (*launch)(const char*, unsigned, unsigned, unsigned, unsigned, void**), const char* name,
    int count, const size_t* sizes) {
  auto* f = new Function{launch, name, {}};
  size_t at = 0;
  for (int i = 0; i < count; at += sizes[i++]) f->parameters.push_back({at, sizes[i]});
  return f;
}
int cuMemsetD8Async(unsigned long long p, unsigned char v, size_t n, void* stream) {
  if (failure) return failure;
  if (Graph* graph = recorded(stream)) {
    graph->nodes.push_back(new Node{.type = 2, .set = {p, 0, v, 1, n, 1}});
    return 0;
  }
  std::memset(reinterpret_cast<void*>(p), v, n > 64 * kLittle ? kLittle : n);
  return 0;
}
// Time: a launch of a kernel takes half as long as whatever else was done, and long enough not to be measured often.
int cuEventCreate(void** e, unsigned) {
  *e = new long(0);
  return 0;
}
int cuEventRecord(void* e, void*) {
  if (failure) return failure;
  *static_cast<long*>(e) = launches | quick << 32;
  return 0;
}
static int events_wait = 0;
void simulated_events_wait(int yes) { events_wait = yes; }
int cuEventQuery(void*) { return failure ? failure : events_wait ? 600 : 0; }
int cuEventSynchronize(void*) { return failure; }
int cuEventElapsedTime(float* ms, void* begin, void* end) {
  const long from = *static_cast<long*>(begin), to = *static_cast<long*>(end);
  *ms = from >> 32 != to >> 32 ? 5 : from != to ? 10 : 20;
  return 0;
}
int cuEventDestroy_v2(void* e) {
  delete static_cast<long*>(e);
  return 0;
}

// --- modules: the "machine code" is the option that chose the dtype -----------------------------------------------------

int cuModuleLoadData(void** module, const void* image) {
  if (failure) return failure;
  const std::string code = static_cast<const char*>(image);
  *module =
      dlopen((code[0] == '/' ? code : kernel_folder() + "/kernels_" + code + ".so").c_str(), RTLD_NOW | RTLD_LOCAL);
  return *module ? 0 : 200;
}
int cuModuleGetFunction(void** f, void* module, const char* name) {
  void* launch = dlsym(module, "simulated_launch");
  if (!launch || !dlsym(module, name)) return 500;
  *f = new Function{reinterpret_cast<decltype(Function::launch)>(launch), name, {}};
  return 0;
}
int cuLaunchKernel(void* f, unsigned gx, unsigned gy, unsigned, unsigned bx, unsigned by, unsigned, unsigned, void*,
    void** args, void**) {
  if (failure) return failure;
  auto* function = static_cast<Function*>(f);
  ++launches;
  function->launch(function->name.c_str(), gx, gy, bx, by, args);
  return 0;
}

}  // extern "C"
