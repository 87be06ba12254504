#include "cuda/nvrtc.h"

#include <dlfcn.h>

#include <chrono>
#include <cstdio>
#include <map>
#include <mutex>

#include "core/cache_folder.h"
#include "core/slow_work.h"
#include "cuda/cublaslt.h"
#include "cuda/device_failure.h"

namespace shim::nvrtc {
namespace {

using namespace cuda;
using Program = struct ProgramImpl*;

// X(member, symbol, argument types): every function gives an int, 0 for success.
#define SHIM_NVRTC(X)                                                                                              \
  X(version, nvrtcVersion, (int*, int*))                                                                           \
  X(create, nvrtcCreateProgram, (Program*, const char*, const char*, int, const char* const*, const char* const*)) \
  X(compile, nvrtcCompileProgram, (Program, int, const char* const*))                                              \
  X(cubin_size, nvrtcGetCUBINSize, (Program, size_t*))                                                             \
  X(cubin, nvrtcGetCUBIN, (Program, char*))                                                                        \
  X(log_size, nvrtcGetProgramLogSize, (Program, size_t*))                                                          \
  X(log, nvrtcGetProgramLog, (Program, char*))                                                                     \
  X(destroy, nvrtcDestroyProgram, (Program*))

struct Library {
#define SHIM_MEMBER(member, symbol, types) int(*member) types = nullptr;
  SHIM_NVRTC(SHIM_MEMBER)
#undef SHIM_MEMBER
  bool loaded = false;
  std::string version_text;
};

bool load(const std::string& path, Library& l) {
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library) return false;
  bool complete = true;
#define SHIM_LOAD(member, symbol, types)                              \
  l.member = reinterpret_cast<int(*) types>(dlsym(library, #symbol)); \
  complete = complete && l.member;
  SHIM_NVRTC(SHIM_LOAD)
#undef SHIM_LOAD
  int major = 0, minor = 0;
  if (!complete || l.version(&major, &minor) != 0) return false;
  l.version_text = std::to_string(major) + "." + std::to_string(minor);
  l.loaded = true;
  return true;
}

Library& library() {
  static Library* found = [] {
    auto* l = new Library();
    for (const std::string& path : cublaslt::library_candidates("nvrtc"))
      if (load(path, *l)) break;
    return l;
  }();
  return *found;
}

struct State {
  std::mutex lock;
  std::map<std::pair<int, std::string>, CUmodule> modules;  // (device, program)
  std::string why;
};

State& state() {
  static auto* s = new State();
  return *s;
}

// Programs compiled one after the other, as in the first seconds of a program: short each, long together.
struct Burst {
  using Clock = std::chrono::steady_clock;
  std::mutex lock;
  Clock::time_point begun{}, ended{};
  int compiled = 0;

  Clock::duration waited() {  // since the first of them, if the last one ended just now
    std::lock_guard<std::mutex> guard(lock);
    const auto now = Clock::now();
    if (now - ended > std::chrono::milliseconds(500)) begun = now;
    return now - begun;
  }
  std::string said(const std::string& name) {
    std::lock_guard<std::mutex> guard(lock);
    return "compiling CUDA kernels: " + name + (compiled ? ", " + std::to_string(compiled) + " programs done" : "");
  }
  void done() {
    std::lock_guard<std::mutex> guard(lock);
    ended = Clock::now();
    ++compiled;
  }
};

Burst& burst() {
  static auto* b = new Burst();
  return *b;
}

int architecture_of(int device) {
  constexpr int kMajor = 75, kMinor = 76;
  int major = 0, minor = 0;
  CUdevice handle = 0;
  driver().device_get(&handle, device);
  driver().device_attribute(&major, kMajor, handle);
  driver().device_attribute(&minor, kMinor, handle);
  return 10 * major + minor;
}

// Loads machine code, and tells it where its asserts leave their record. False: the driver does not take it.
bool load_code(CUmodule* module, const std::string& code, int device) {
  const CUresult r = driver().module_load(module, code.data());
  if (breaks_context(r)) raise_failure(r, "cuModuleLoadData");
  if (r == 0) give_assert_record(*module, device);
  return r == 0;
}

// What is kept of a program is its machine code, for its source, architecture and options.
CUmodule module_for(int device, const std::string& name, const char* source, const std::vector<std::string>& options) {
  State& s = state();
  auto [it, fresh] = s.modules.try_emplace({device, name}, nullptr);
  if (!fresh) return it->second;
  const int architecture = architecture_of(device);
  std::string key = source + std::to_string(architecture);
  for (auto& o : options) key += " " + o;
  std::string folder = cache_folder();
  if (!folder.empty()) folder += "/kernels";
  char file[64];  // the digest tells programs apart; the name is for people
  std::snprintf(file, sizeof file, "%.24s-sm%d-%016llx.cubin", name.c_str(), architecture,
      static_cast<unsigned long long>(digest(key)));
  if (const std::string code = kept(folder, file, key); !code.empty()) {
    if (load_code(&it->second, code, device)) return it->second;
    forget(folder, file);  // no code for this driver: it is made again
  }
  const Compiled c = compile(source, architecture, options, name);
  if (c.cubin.empty()) {
    s.why = c.log;
    return it->second = nullptr;
  }
  if (!load_code(&it->second, c.cubin, device)) {
    s.why = name + ": the driver does not load the compiled kernels";
    return it->second = nullptr;
  }
  keep(folder, file, key, c.cubin);
  return it->second;
}

}  // namespace

std::string use_library(const std::string& path) {
  Library l;
  if (!load(path, l)) return path + " could not be loaded as NVRTC";
  library() = l;
  return {};
}

std::string version() { return library().loaded ? library().version_text : ""; }

std::string why_not() {
  std::lock_guard<std::mutex> guard(state().lock);
  return state().why;
}

Compiled compile(
    const std::string& source, int architecture, const std::vector<std::string>& options, const std::string& name) {
  const Library& l = library();
  if (!l.loaded) return {"", "NVRTC was not found. Install nvidia-cuda-nvrtc, or set SHIM_NVRTC_PATH."};
  Program program = nullptr;
  if (l.create(&program, source.c_str(), "shim_kernels.cu", 0, nullptr, nullptr) != 0)
    return {"", "nvrtcCreateProgram failed"};
  std::string target = "--gpu-architecture=sm_" + std::to_string(architecture);
  for (auto& o : options)
    if (o == "-DHOPPER=1") target += "a";  // instructions of this architecture alone
  std::vector<const char*> arguments = {target.c_str(), "-std=c++17", "-default-device"};
  for (auto& o : options) arguments.push_back(o.c_str());
  Compiled result;
  const auto waited = burst().waited();
  int status;
  {
    SlowWork work(burst().said(name), waited);
    status = l.compile(program, int(arguments.size()), arguments.data());
  }
  burst().done();
  size_t size = 0;
  if (status == 0 && l.cubin_size(program, &size) == 0 && size) {
    result.cubin.resize(size);
    if (l.cubin(program, result.cubin.data()) != 0) result.cubin.clear();
  }
  if (l.log_size(program, &size) == 0 && size > 1) {
    result.log.resize(size);
    l.log(program, result.log.data());
  }
  if (result.cubin.empty() && result.log.empty()) result.log = "NVRTC gave no machine code";
  l.destroy(&program);
  return result;
}

CUfunction kernel(int device, const std::string& name, const char* source, const std::vector<std::string>& options,
    const char* entry) {
  if (!driver().loaded || !driver().module_load || !driver().module_function) return nullptr;
  std::lock_guard<std::mutex> guard(state().lock);
  CUmodule module = module_for(device, name, source, options);
  CUfunction function = nullptr;
  if (module && driver().module_function(&function, module, entry) != 0) {
    state().why = name + " has no kernel " + entry;
    return nullptr;
  }
  return function;
}

}  // namespace shim::nvrtc
