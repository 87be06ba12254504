// A CUDA driver for machines without a GPU: device memory is host memory, everything happens at once, and kernels are our own
// CUDA sources compiled for the host (kernels.cpp, nvrtc.cpp). Two devices, or SIMULATED_DEVICES of them; only what the core calls.
#include <dlfcn.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <set>
#include <string>
#include <vector>

#include "driver_graphs.h"
#include "driver_memory.h"
#include "driver_order.h"
#include "driver_shared.h"
#include "kernel_folder.h"

extern "C" {

int cuInit(unsigned) { return 0; }
int cuDriverGetVersion(int* v) {
  *v = 13000;
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
int cuCtxSynchronize() { return failure() ? failure() : make_copies(); }
int cuGetErrorName(int, const char** s) {
  *s = "SIMULATED";
  return 0;
}
int cuGetErrorString(int, const char** s) {
  *s = "simulated error";
  return 0;
}
int cuStreamGetId(void* s, unsigned long long* id) {
  *id = reinterpret_cast<uintptr_t>(s) / 8;
  return 0;
}
int cuThreadExchangeStreamCaptureMode(int*) { return 0; }
int cuStreamSynchronize(void* s) { return failure_on(s) ? failure_on(s) : make_copies(); }
int cuStreamQuery(void* s) { return failure_on(s); }
int cuStreamIsCapturing(void*, int* v) {
  *v = 0;
  return 0;
}
static long launches = 0, quick = 0;
long simulated_launches() { return launches; }
void simulated_quick() { ++quick; }  // what runs now takes no time to speak of
static int attributes_seen = 0;
int simulated_attributes() { return attributes_seen; }
static int refuse(const Function* f, void* stream) {
  if (failure()) return failure();
  note("launch", stream);
  simulated_work(stream);
  return (f->context && f->context != current) || context_of(stream) != current ? kInvalidHandle : 0;
}
int cuLaunchKernelEx(const Config* c, Function* f, void** args, void** extra) {
  if (int refused = refuse(f, c->stream)) return refused;
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
  if (f->keep) {
    void** kept = f->keep(f->name.c_str(), args);
    graph->work.push_back([f, grid = n->config, kept] {
      f->launch(f->name.c_str(), grid.grid[0], grid.grid[1], grid.block[0], grid.block[1], kept);
    });
    return 0;
  }
  graph->work.push_back([f, grid = n->config, values = n->values]() mutable {
    std::vector<void*> pointers;
    for (auto& v : values) pointers.push_back(v.data());
    f->launch(f->name.c_str(), grid.grid[0], grid.grid[1], grid.block[0], grid.block[1], pointers.data());
  });
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
  if (failure()) return failure();
  if (context_of(stream) != current) return kInvalidHandle;
  if (!in_reach(p)) return kInvalidValue;
  if (Graph* graph = recorded(stream)) {
    graph->nodes.push_back(new Node{.type = 2, .set = {p, 0, v, 1, n, 1}});
    graph->work.push_back([=] { std::memset(reinterpret_cast<void*>(p), v, n > 64 * kLittle ? kLittle : n); });
    return 0;
  }
  std::memset(reinterpret_cast<void*>(p), v, n > 64 * kLittle ? kLittle : n);
  return 0;
}
// Time: a launch of a kernel takes half as long as whatever else was done, and long enough not to be measured often.
struct Event {
  Context* context;
  long time = 0;
  Seen seen = {};
};
int cuStreamWaitEvent(void* s, void* e, unsigned) {  // of any device
  note("wait", s);
  come_after(s, static_cast<Event*>(e)->seen);
  return context_of(s) ? 0 : kInvalidContext;
}
static int events_made = 0;
int simulated_events() { return events_made; }
int cuEventCreate(void** e, unsigned) {
  if (!current) return kInvalidContext;
  ++events_made;
  *e = new Event{current};
  return 0;
}
int cuEventRecord(void* e, void* stream) {
  auto* event = static_cast<Event*>(e);
  if (failure_on(stream)) return failure_on(stream);
  if (event->context != context_of(stream)) return kInvalidHandle;
  note("record", stream);
  event->time = launches | quick << 32;
  event->seen = seen_by(stream);
  return 0;
}
static int events_wait = 0;
void simulated_events_wait(int yes) { events_wait = yes; }
int cuEventQuery(void* e) {
  const int failed = static_cast<Event*>(e)->context->failure;
  return failed ? failed : events_wait ? 600 : 0;
}
int cuEventSynchronize(void* e) { return static_cast<Event*>(e)->context->failure; }
int cuEventElapsedTime(float* ms, void* begin, void* end) {
  if (static_cast<Event*>(begin)->context != static_cast<Event*>(end)->context) return kInvalidHandle;
  const long from = static_cast<Event*>(begin)->time, to = static_cast<Event*>(end)->time;
  *ms = from >> 32 != to >> 32 ? 5 : from != to ? 10 : 20;
  return 0;
}
int cuEventDestroy_v2(void* e) {
  delete static_cast<Event*>(e);
  return 0;
}

// --- modules: the "machine code" is the option that chose the dtype -----------------------------------------------------

struct Module {
  void* library;
  Context* context;
};
int cuModuleLoadData(void** module, const void* image) {
  if (failure()) return failure();
  const std::string code = static_cast<const char*>(image);
  if (code == "none") {
    *module = new Module{nullptr, current};
    return 0;
  }
  void* library =
      dlopen((code[0] == '/' ? code : kernel_folder() + "/kernels_" + code + ".so").c_str(), RTLD_NOW | RTLD_LOCAL);
  *module = library ? new Module{library, current} : nullptr;
  return library ? 0 : 200;
}
static void simulated_nothing(const char*, unsigned, unsigned, unsigned, unsigned, void**) {}
int cuModuleGetFunction(void** f, Module* module, const char* name) {
  if (!module->library) {
    *f = new Function{simulated_nothing, name, {}, module->context, nullptr};
    return 0;
  }
  void* launch = dlsym(module->library, "simulated_launch");
  if (!launch || !dlsym(module->library, name)) return 500;
  *f = new Function{reinterpret_cast<decltype(Function::launch)>(launch), name, {}, module->context,
      reinterpret_cast<decltype(Function::keep)>(dlsym(module->library, "simulated_keep"))};
  return 0;
}
int cuLaunchKernel(void* f, unsigned gx, unsigned gy, unsigned, unsigned bx, unsigned by, unsigned, unsigned,
    void* stream, void** args, void**) {
  auto* function = static_cast<Function*>(f);
  if (int refused = refuse(function, stream)) return refused;
  Graph* graph = recorded(stream);
  if (graph && function->keep) {
    void** kept = function->keep(function->name.c_str(), args);
    graph->work.push_back([=] { function->launch(function->name.c_str(), gx, gy, bx, by, kept); });
    return 0;
  }
  ++launches;
  function->launch(function->name.c_str(), gx, gy, bx, by, args);
  return 0;
}

}  // extern "C"
