// Devices and contexts of the simulated driver. As on the real one streams, events, functions and memory belong to a context, and calls
// that mix them are refused: a launch needs the function and the stream of the current context, an event is recorded on its own, memory of
// another device is out of reach of memcpy and memset without peer access.
#pragma once
#include <cstdint>
#include <cstdlib>
#include <map>
#include <string>

extern "C" {

constexpr int kDevices = 4, kInvalidValue = 1, kInvalidContext = 201, kInvalidHandle = 400;
struct Context {
  int device;
  int failure = 0;                   // what every call gives after a kernel trapped: CUDA_ERROR_LAUNCH_FAILED
  bool reaches[kDevices] = {};       // other devices' memory of cuMemAlloc, by cuCtxEnablePeerAccess
  bool pool_open_to[kDevices] = {};  // who may work on the memory of its pool, by cuMemPoolSetAccess
};
static Context contexts[kDevices] = {{0}, {1}, {2}, {3}};
static thread_local Context* current = nullptr;
struct Stream {
  Context* context;
};

static int device_count() {
  static const int n = std::getenv("SIMULATED_DEVICES") ? std::atoi(std::getenv("SIMULATED_DEVICES")) : 2;
  return n < kDevices ? n : kDevices;
}
static bool peers() {
  static const bool yes = !std::getenv("SIMULATED_NO_PEERS");
  return yes;
}
// The context of a stream; null and the library's own numbers are streams of the current one.
static Context* context_of(void* stream) {
  return reinterpret_cast<uintptr_t>(stream) < 16 ? current : static_cast<Stream*>(stream)->context;
}
static int failure() { return !current ? kInvalidContext : current->failure; }
static int failure_on(void* stream) {
  Context* c = context_of(stream);
  return !c ? kInvalidContext : c->failure;
}
void simulated_trap() { (current ? current : contexts)->failure = 719; }

// What was called, for tests of the order of streams: "record 0 - ; wait 1 7" and the like, streams by number, null as -.
static auto& trace = *new std::string();
static bool traced = false;
static void note(const std::string& what, void* stream) {
  if (!traced) return;
  static int streams = 0;
  static auto& numbers = *new std::map<void*, int>();
  Context* c = context_of(stream);
  trace += what + " " + std::to_string(c ? c->device : -1) + " ";
  if (context_of(nullptr) != c || reinterpret_cast<uintptr_t>(stream) >= 16) {
    auto [it, fresh] = numbers.try_emplace(stream, streams);
    streams += fresh;
    trace += std::to_string(it->second);
  } else {
    trace += "-";
  }
  trace += "; ";
}
void simulated_trace(int on) { traced = on, trace.clear(); }
const char* simulated_calls() { return trace.c_str(); }

int cuDeviceGetCount(int* n) {
  *n = device_count();
  return 0;
}
int cuDeviceGet(int* d, int i) {
  if (i < 0 || i >= device_count()) return 101;
  *d = i;
  return 0;
}
int cuDevicePrimaryCtxRetain(void** c, int d) {
  *c = &contexts[d];
  return 0;
}
int cuCtxSetCurrent(void* c) {
  current = static_cast<Context*>(c);
  return 0;
}
int cuCtxGetCurrent(void** c) {
  *c = current;
  return 0;
}
int cuCtxGetDevice(int* d) {
  if (!current) return kInvalidContext;
  *d = current->device;
  return 0;
}
int cuDeviceCanAccessPeer(int* yes, int device, int peer) {
  *yes = peers() && device != peer;
  return 0;
}
int cuCtxEnablePeerAccess(Context* peer, unsigned) {
  if (!current || peer == current) return kInvalidContext;
  if (!peers()) return 217;
  if (current->reaches[peer->device]) return 704;  // enabled already
  current->reaches[peer->device] = true;
  return 0;
}
int cuStreamCreateWithPriority(void** s, unsigned, int) {
  if (!current) return kInvalidContext;
  *s = new Stream{current};
  return 0;
}
int cuStreamDestroy_v2(void* s) {
  delete static_cast<Stream*>(s);
  return 0;
}

}  // extern "C"
