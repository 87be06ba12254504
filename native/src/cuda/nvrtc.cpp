#include "cuda/nvrtc.h"

#include <dlfcn.h>
#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <memory>
#include <mutex>
#include <optional>

#include "cuda/cublaslt.h"
#include "cuda/kernel_files.h"

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
  int (*set_callback)(Program, int (*)(void*, void*), void*) = nullptr;  // of later versions: may end a compilation
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
  l.set_callback = reinterpret_cast<decltype(l.set_callback)>(dlsym(library, "nvrtcSetFlowCallback"));
  int major = 0, minor = 0;
  if (!complete || l.version(&major, &minor) != 0) return false;
  l.version_text = std::to_string(major) + "." + std::to_string(minor);
  l.loaded = true;
  return true;
}

// Found without a lock held: the search runs Python, which lets other threads run that want the library too.
std::atomic<Library*> library_{nullptr};

Library& library() {
  if (Library* found = library_.load(std::memory_order_acquire)) return *found;
  auto* own = new Library();
  for (const std::string& path : cublaslt::library_candidates("nvrtc"))
    if (load(path, *own)) break;
  Library* first = nullptr;
  if (library_.compare_exchange_strong(first, own)) return *own;
  delete own;
  return *first;
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

Burst* burst_ = nullptr;
std::once_flag burst_made;

Burst& burst() {
  std::call_once(burst_made, [] {
    burst_ = new Burst;
    pthread_atfork(
        nullptr, nullptr, [] { burst_ = new Burst; });  // a thread that is not in the child may hold the lock
  });
  return *burst_;
}

constexpr size_t kLogBytes = 8192;  // kept of what the compiler says
std::atomic<bool> stopped{false};
int is_stopped(void*, void*) { return stopped; }

}  // namespace

std::string use_library(const std::string& path) {
  auto l = std::make_unique<Library>();
  if (!load(path, *l)) return path + " could not be loaded as NVRTC";
  library_ = l.release();  // another one stays where it is: threads may be in it
  return {};
}

std::string version() { return library().loaded ? library().version_text : ""; }

void stop() { stopped = true; }

Patience::Patience(const std::string& program) : work_(burst().said(program), burst().waited()) {}
Patience::~Patience() { burst().done(); }

Compiled compile(const cuda::Specialisation& s, int architecture, bool silent) {
  const Library& l = library();
  if (!l.loaded) return {"", "NVRTC was not found. Install nvidia-cuda-nvrtc, or set SHIM_NVRTC_PATH.", false};
  const char* source = kernel_program(s.program);
  if (!source) return {"", "there is no such family of kernels"};
  Program program = nullptr;
  if (stopped || l.create(&program, source, "shim_kernels.cu", 0, nullptr, nullptr) != 0)
    return {"", "nvrtcCreateProgram failed", false};
  if (l.set_callback) l.set_callback(program, is_stopped, nullptr);
  std::vector<std::string> options = {
      "--gpu-architecture=sm_" + std::to_string(architecture) + (s.for_hopper() ? "a" : ""), "-std=c++17",
      "-default-device"};
  for (const std::string& m : s.macros) options.push_back("-D" + m);
  std::vector<const char*> arguments;
  for (const std::string& o : options) arguments.push_back(o.c_str());
  std::optional<Patience> said;
  if (!silent) said.emplace(s.program);
  const int status = l.compile(program, int(arguments.size()), arguments.data());
  said.reset();
  Compiled result;
  size_t size = 0;
  if (status == 0 && l.cubin_size(program, &size) == 0 && size) {
    result.cubin.resize(size);
    if (l.cubin(program, result.cubin.data()) != 0) result.cubin.clear();
  }
  if (l.log_size(program, &size) == 0 && size > 1) {
    result.log.resize(size);
    l.log(program, result.log.data());
    result.log.resize(std::min(std::strlen(result.log.c_str()), kLogBytes));
  }
  if (result.cubin.empty() && result.log.empty()) result.log = "NVRTC gave no machine code";
  result.from_compiler = !stopped;
  l.destroy(&program);
  return result;
}

}  // namespace shim::nvrtc
