// The simulated driver for Triton's own code: launches of kernels that it compiled are recorded, and done by a function of the test's
// where there is one of the kernel's name (simulated_kernel).
#define cuModuleLoadData own_cuModuleLoadData
#define cuModuleGetFunction own_cuModuleGetFunction
#define cuLaunchKernel own_cuLaunchKernel
#define cuLaunchKernelEx own_cuLaunchKernelEx
#include "driver.cpp"
#undef cuModuleLoadData
#undef cuModuleGetFunction
#undef cuLaunchKernel
#undef cuLaunchKernelEx

#include <set>

static auto& cubins = *new std::set<void*>();
static auto& triton_functions = *new std::map<void*, std::string>();
static auto& lines = *new std::string();
static auto& parameter_sizes = *new std::vector<int>();

struct Simulated {
  void (*run)(const unsigned* grid, void** args);
  std::vector<int> sizes;  // of parameters
};
static auto& simulated_kernels = *new std::map<std::string, Simulated>();

static void simulate(void* f, unsigned gx, unsigned gy, unsigned gz, void* stream, void** args) {
  auto found = simulated_kernels.find(triton_functions[f]);
  if (found == simulated_kernels.end()) return;
  const Simulated& kernel = found->second;
  if (Graph* graph = recorded(stream)) {
    auto* values = new std::vector<std::vector<unsigned char>>();
    auto* kept = new std::vector<void*>();
    for (size_t i = 0; i < kernel.sizes.size(); ++i) {
      auto* from = static_cast<unsigned char*>(args[i]);
      values->emplace_back(from, from + kernel.sizes[i]);
    }
    for (auto& v : *values) kept->push_back(v.data());
    graph->work.push_back([=] {
      const unsigned grid[] = {gx, gy, gz};
      kernel.run(grid, kept->data());
    });
    return;
  }
  const unsigned grid[] = {gx, gy, gz};
  kernel.run(grid, args);
}

static void record(void* f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
    unsigned shared, void* stream, void** args) {
  char text[256];
  std::snprintf(text, sizeof text, "%p (%u,%u,%u) (%u,%u,%u) %u %p", f, gx, gy, gz, bx, by, bz, shared, stream);
  lines += text;
  for (size_t i = 0; i < parameter_sizes.size(); ++i) {
    lines += ' ';
    for (int b = 0; b < parameter_sizes[i]; ++b) {
      std::snprintf(text, sizeof text, "%02x", static_cast<unsigned char*>(args[i])[b]);
      lines += text;
    }
  }
  lines += '\n';
}

extern "C" {
int cuModuleLoadData(void** module, const void* image) {
  if (static_cast<const char*>(image)[0] != 0x7f) return own_cuModuleLoadData(module, image);
  cubins.insert(*module = std::malloc(1));
  return 0;
}
int cuModuleUnload(void*) { return 0; }
int cuModuleGetFunction(void** f, void* module, const char* name) {
  if (!cubins.count(module)) return own_cuModuleGetFunction(f, static_cast<Module*>(module), name);
  triton_functions[*f = std::malloc(1)] = name;
  return 0;
}
int cuLaunchKernel(void* f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
    unsigned shared, void* stream, void** args, void** extra) {
  if (!triton_functions.count(f)) return own_cuLaunchKernel(f, gx, gy, gz, bx, by, bz, shared, stream, args, extra);
  record(f, gx, gy, gz, bx, by, bz, shared, stream, args);
  simulate(f, gx, gy, gz, stream, args);
  return 0;
}
int cuLaunchKernelEx(const Config* c, Function* f, void** args, void** extra) {
  if (!triton_functions.count(f)) return own_cuLaunchKernelEx(c, f, args, extra);
  record(f, c->grid[0], c->grid[1], c->grid[2], c->block[0], c->block[1], c->block[2], c->shared, c->stream, args);
  simulate(f, c->grid[0], c->grid[1], c->grid[2], c->stream, args);
  return 0;
}
int cuFuncGetAttribute(int* v, int attribute, void*) {
  *v = attribute == 0 ? 1024 : 0;
  return 0;
}  // 0: threads a block
int cuFuncSetAttribute(void*, int, int) { return 0; }
int cuFuncSetCacheConfig(void*, int) { return 0; }
int cuPointerGetAttribute(void* data, int, unsigned long long p) {
  auto after = sizes.upper_bound(p);
  if (after == sizes.begin() || p >= std::prev(after)->first + std::prev(after)->second.size)
    return 1;  // memory of the host
  *static_cast<unsigned long long*>(data) = p;
  return 0;
}
int cuPointerGetAttributes(unsigned, int* attributes, void** data, unsigned long long p) {
  return cuPointerGetAttribute(data[0], attributes[0], p);
}
int cuOccupancyMaxActiveClusters(int* n, void*, void*) {
  *n = 1;
  return 0;
}
int cuTensorMapEncodeTiled(void*) { return 0; }
int cuTensorMapEncodeIm2col(void*) { return 0; }
int cuCtxSetLimit(int, size_t) { return 0; }
int cuCtxGetLimit(size_t* n, int) {
  *n = 0;
  return 0;
}

void simulated_kernel(const char* name, void (*run)(const unsigned*, void**), int n, const int* sizes) {
  simulated_kernels[name] = {run, {sizes, sizes + n}};
}
void recorded_parameters(int n, const int* sizes) { parameter_sizes.assign(sizes, sizes + n); }
const char* recorded_launches() {
  static std::string out;
  out = lines;
  lines.clear();
  return out.c_str();
}
}
