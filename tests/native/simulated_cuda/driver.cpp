// A CUDA driver and an NVRTC for machines without a GPU: device memory is host memory, everything happens at once, and
// kernels are our own CUDA sources compiled for the host (kernels.cpp). One device; only what the core calls.
#include <dlfcn.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <string>
#include <vector>

extern "C" {

static thread_local void* current = nullptr;
static int failure = 0;  // what every call gives after a kernel trapped: CUDA_ERROR_LAUNCH_FAILED
void simulated_trap() { failure = 719; }
static int context_object, pool_object;

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
static int make_copies();
int cuCtxSynchronize() { return failure ? failure : make_copies(); }
int cuGetErrorName(int, const char** s) {
  *s = "SIMULATED";
  return 0;
}
int cuGetErrorString(int, const char** s) {
  *s = "simulated error";
  return 0;
}
int cuMemGetInfo_v2(size_t* f, size_t* t) {
  *f = *t = size_t(1) << 34;
  return 0;
}

constexpr size_t kLittle = 1 << 20;  // what is larger is only there to empty caches

static auto& sizes = *new std::map<unsigned long long, size_t>();
static size_t taken = 0, room = size_t(1) << 34;
size_t simulated_memory() { return taken; }
void simulated_room(size_t n) { room = n; }

// Fresh memory is never zero by luck.
int cuMemAlloc_v2(unsigned long long* p, size_t n) {
  if (failure) return failure;
  if (n == 0) return 1;
  if (taken + n > room) return 2;
  void* m = std::aligned_alloc(512, (n + 511) / 512 * 512);
  std::memset(m, 0xa5, n < kLittle ? n : kLittle);
  *p = reinterpret_cast<uintptr_t>(m);
  taken += sizes[*p] = n;
  return 0;
}
int cuMemAllocAsync(unsigned long long* p, size_t n, void*) { return cuMemAlloc_v2(p, n); }
int cuMemFree_v2(unsigned long long p) {
  if (!sizes.count(p)) return 1;
  taken -= sizes[p];
  sizes.erase(p);
  std::free(reinterpret_cast<void*>(p));
  return 0;
}
int cuMemFreeAsync(unsigned long long p, void*) { return cuMemFree_v2(p); }
int cuMemHostAlloc(void** p, size_t n, unsigned) {
  if (failure) return failure;
  *p = std::malloc(n);
  return 0;
}
int cuMemFreeHost(void* p) {
  std::free(p);
  return 0;
}
int cuDeviceGetDefaultMemPool(void** p, int) {
  *p = &pool_object;
  return 0;
}
int cuDeviceGetMemPool(void** p, int) {
  *p = &pool_object;
  return 0;
}
int cuMemPoolSetAttribute(void*, int, void*) { return 0; }
int cuMemPoolGetAttribute(void*, int, void* v) {
  *static_cast<uint64_t*>(v) = 0;
  return 0;
}
int cuMemPoolTrimTo(void*, size_t) { return 0; }
// While copies wait, they are made at the next synchronisation, as a GPU that is busy makes them.
struct Copy {
  unsigned long long to, from;
  size_t bytes;
};
static auto& copies = *new std::vector<Copy>();
static bool copies_wait = false;
static int make_copies() {
  for (const Copy& c : copies) std::memmove(reinterpret_cast<void*>(c.to), reinterpret_cast<void*>(c.from), c.bytes);
  copies.clear();
  return 0;
}
void simulated_copies_wait(int wait) { copies_wait = wait; }
int cuMemcpyAsync(unsigned long long to, unsigned long long from, size_t n, void*) {
  if (failure) return failure;
  if (copies_wait) return copies.push_back({to, from, n}), 0;
  std::memmove(reinterpret_cast<void*>(to), reinterpret_cast<void*>(from), n);
  return 0;
}
int cuMemsetD16Async(unsigned long long p, unsigned short v, size_t n, void*) {
  if (failure) return failure;
  for (size_t i = 0; i < n; ++i) reinterpret_cast<unsigned short*>(p)[i] = v;
  return 0;
}
int cuMemsetD32Async(unsigned long long p, unsigned v, size_t n, void*) {
  if (failure) return failure;
  for (size_t i = 0; i < n; ++i) reinterpret_cast<unsigned*>(p)[i] = v;
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
// Captures in the relaxed mode (2) are recorded: the kernels of cuLaunchKernelEx, and the memory sets. Others see everything run.
struct Parameter {
  size_t offset, size;
};
struct Function {
  void (*launch)(const char*, unsigned, unsigned, unsigned, unsigned, void**);
  std::string name;
  std::vector<Parameter> parameters;  // none: cuFuncGetParamInfo refuses
};
struct Attribute {
  int id, padding;
  unsigned char value[64];
};
struct Config {
  unsigned grid[3], block[3], shared;
  void* stream;
  Attribute* attributes;
  unsigned count;
};
struct Node {
  int type = 0;  // 0 a kernel, 2 a memory set
  Config config{};
  Function* function = nullptr;
  std::vector<Attribute> attributes;
  std::vector<std::vector<unsigned char>> values;
  std::vector<void*> pointers;
  struct {
    unsigned long long to;
    size_t pitch;
    unsigned value, element;
    size_t width, height;
  } set{};
  std::vector<unsigned char> buffer;  // of packed parameters
  size_t size = 0;
  void* extra[5] = {};
};
struct Graph {
  std::vector<Node*> nodes;
};
struct KernelNode {
  void* function;
  unsigned grid[3], block[3], shared;
  void **parameters, **extra;
  void *kernel, *context;
};
static auto& recording = *new std::map<void*, Graph*>();
static Graph* recorded(void* stream) {
  auto it = recording.find(stream);
  return it == recording.end() ? nullptr : it->second;
}

int cuStreamBeginCapture_v2(void* s, int mode) {
  if (mode == 2) recording[s] = new Graph();
  return 0;
}
int cuStreamEndCapture(void* s, void** g) {
  Graph* own = recorded(s);
  *g = own ? own : new Graph();
  recording.erase(s);
  return 0;
}
int cuStreamDestroy_v2(void* s) {
  std::free(s);
  return 0;
}
int cuGraphDestroy(void* g) {
  for (Node* n : static_cast<Graph*>(g)->nodes) delete n;
  delete static_cast<Graph*>(g);
  return 0;
}
int cuGraphGetNodes(void* g, void** nodes, size_t* count) {
  auto& all = static_cast<Graph*>(g)->nodes;
  for (size_t i = 0; nodes && i < all.size(); ++i) nodes[i] = all[all.size() - 1 - i];  // in no order that helps
  *count = all.size();
  return 0;
}
int cuGraphGetEdges_v2(void* g, void** from, void** to, unsigned char (*data)[8], size_t* count) {
  auto& all = static_cast<Graph*>(g)->nodes;
  *count = all.empty() ? 0 : all.size() - 1;
  for (size_t i = 0; from && i < *count; ++i) {
    from[i] = all[i];
    to[i] = all[i + 1];
    std::memset(data[i], 0, 8);
    for (const Attribute& a : all[i + 1]->attributes)
      if (a.id == 6 && a.value[0]) data[i][0] = data[i][2] = 1;
  }
  return 0;
}
int cuGraphNodeGetType(void* n, int* type) {
  *type = static_cast<Node*>(n)->type;
  return 0;
}
int cuGraphKernelNodeGetParams_v2(void* n, KernelNode* to) {
  Node& node = *static_cast<Node*>(n);
  *to = KernelNode{node.function, {}, {}, node.config.shared, node.size ? nullptr : node.pointers.data(),
      node.size ? node.extra : nullptr, nullptr, nullptr};
  std::memcpy(to->grid, node.config.grid, sizeof to->grid);
  std::memcpy(to->block, node.config.block, sizeof to->block);
  return 0;
}
int cuGraphMemsetNodeGetParams(void* n, void* to) {
  std::memcpy(to, &static_cast<Node*>(n)->set, sizeof Node::set);
  return 0;
}
int cuGraphKernelNodeGetAttribute(void* n, int id, void* value) {
  std::memset(value, 0, 64);
  for (const Attribute& a : static_cast<Node*>(n)->attributes)
    if (a.id == id) std::memcpy(value, a.value, 64);
  return 0;
}
int cuFuncGetParamInfo(Function* f, size_t i, size_t* offset, size_t* size) {
  if (i >= f->parameters.size()) return 1;
  *offset = f->parameters[i].offset;
  *size = f->parameters[i].size;
  return 0;
}
int cuKernelGetParamInfo(void*, size_t, size_t*, size_t*) { return 1; }
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
int cuGraphInstantiateWithFlags(void** e, void*, unsigned long long) {
  *e = std::malloc(1);
  return 0;
}
int cuGraphExecDestroy(void* e) {
  std::free(e);
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

static std::string folder() {
  const char* f = std::getenv("SIMULATED_KERNELS");
  return f ? f : ".";
}

int cuModuleLoadData(void** module, const void* image) {
  if (failure) return failure;
  const std::string code = static_cast<const char*>(image);
  *module = dlopen((code[0] == '/' ? code : folder() + "/kernels_" + code + ".so").c_str(), RTLD_NOW | RTLD_LOCAL);
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

struct Program {
  std::string source, code;
};
int nvrtcVersion(int* major, int* minor) {
  *major = 13;
  *minor = 0;
  return 0;
}
int nvrtcCreateProgram(Program** p, const char* source, const char*, int, const char* const*, const char* const*) {
  *p = new Program{source, {}};
  return 0;
}

// The sources of matrix products were compiled before, a library a dtype; others are compiled here (compile.py).
int nvrtcCompileProgram(Program* p, int n, const char* const* options) {
  std::string all;
  for (int i = 0; i < n; ++i) {
    if (std::strncmp(options[i], "-DTYPE=", 7) == 0) p->code = options[i] + 7;
    all += std::string(" '") + options[i] + "'";
  }
  if (!p->code.empty()) return 0;
  const std::string stem = folder() + "/source_" + std::to_string(std::hash<std::string>()(p->source + all));
  const std::string file = stem + "." + std::to_string(getpid()) + ".cu";
  FILE* f = std::fopen(file.c_str(), "w");
  if (!f) return 1;
  std::fputs(p->source.c_str(), f);
  std::fclose(f);
  const char* python = std::getenv("SIMULATED_PYTHON");
  const char* script = std::getenv("SIMULATED_COMPILER");
  if (!python || !script ||
      std::system((std::string(python) + " " + script + " " + file + " " + stem + ".so" + all).c_str()) != 0)
    return 6;
  p->code = stem + ".so";
  return 0;
}
int nvrtcGetCUBINSize(Program* p, size_t* n) {
  *n = p->code.size() + 1;
  return 0;
}
int nvrtcGetCUBIN(Program* p, char* to) {
  std::memcpy(to, p->code.c_str(), p->code.size() + 1);
  return 0;
}
int nvrtcGetProgramLogSize(Program*, size_t* n) {
  *n = 0;
  return 0;
}
int nvrtcGetProgramLog(Program*, char*) { return 0; }
int nvrtcDestroyProgram(Program** p) {
  delete *p;
  return 0;
}

}  // extern "C"
