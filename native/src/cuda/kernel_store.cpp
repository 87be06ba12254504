#include "cuda/kernel_store.h"

#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <condition_variable>
#include <cstdlib>
#include <map>
#include <memory>
#include <mutex>

#include "core/interpreter_lock.h"
#include "cuda/device_failure.h"
#include "cuda/kernel_ahead.h"
#include "cuda/kernel_code.h"
#include "cuda/nvrtc.h"

namespace shim::cuda {
namespace {

constexpr size_t kFailures = 64;

struct LoadedProgram {
  bool loaded = false;  // or given up
  CUmodule module = nullptr;
};

struct Programs {
  std::mutex lock;
  std::condition_variable changed;
  std::map<std::pair<int, std::string>, std::shared_ptr<LoadedProgram>> all;  // by device
  std::vector<FailedKernel> failed;
};

// Never destroyed, and another one in a forked child: another thread of the parent may hold the lock.
Programs* programs_ = nullptr;
std::once_flag programs_made;
std::atomic<void (*)(const FailedKernel&)> reporter{nullptr};

Programs& programs() {
  std::call_once(programs_made, [] {
    programs_ = new Programs;
    pthread_atfork(nullptr, nullptr, [] { programs_ = new Programs; });
  });
  return *programs_;
}

void record(const std::string& line) {
  static const char* const path = std::getenv("SHIM_TORCH_RECORD_KERNELS");
  if (!path || !*path) return;
  const int file = ::open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
  if (file < 0) return;
  const std::string whole = line + "\n";
  if (::write(file, whole.data(), whole.size()) < 0) {  // a recording is no reason to stop
  }
  ::close(file);
}

void report(const FailedKernel& failed) {
  Programs& p = programs();
  {
    std::lock_guard<std::mutex> guard(p.lock);
    if (p.failed.size() < kFailures) p.failed.push_back(failed);
  }
  if (const auto told = reporter.load()) told(failed);
}

// Null, and the reason in `log`, if it cannot be had.
CUmodule load(const Specialisation& s, const std::string& text, int device, int architecture, std::string& log,
    CUresult& failed) {
  const auto compiles = [&] { look_ahead(text, architecture); };
  CUmodule module = nullptr;
  for (const bool again : {false, true}) {
    const Code code = code_for(s, architecture, compiles, again);
    log = code.log;
    if (code.bytes.empty()) return nullptr;
    OnDevice current(device);
    if ((failed = driver().module_load(&module, code.bytes.data())) == 0) {
      give_assert_record(module, device);
      return module;
    }
    if (breaks_context(failed)) return nullptr;
    log = "the driver does not load the compiled kernels";
  }
  return nullptr;
}

CUmodule module_of(int device, const Specialisation& s) {
  Programs& p = programs();
  const std::string text = s.text();
  std::shared_ptr<LoadedProgram> program;
  bool fresh = false;
  {
    std::lock_guard<std::mutex> guard(p.lock);
    std::shared_ptr<LoadedProgram>& known = p.all[{device, text}];
    if ((fresh = !known)) known = std::make_shared<LoadedProgram>();
    program = known;
    if (program->loaded) return program->module;
  }
  if (!fresh) {  // another thread compiles it
    Unlocked others_run;
    std::unique_lock<std::mutex> guard(p.lock);
    p.changed.wait(guard, [&] { return program->loaded; });
    return program->module;
  }
  record(text);
  const int architecture = architecture_of(device);
  asked_for(text, architecture);
  std::string log;
  CUmodule module = nullptr;
  CUresult failed = 0;
  try {
    module = load(s, text, device, architecture, log, failed);
  } catch (const std::exception& e) { log = e.what(); }
  {
    std::lock_guard<std::mutex> guard(p.lock);
    program->module = module;
    program->loaded = true;
  }
  p.changed.notify_all();
  if (breaks_context(failed)) raise_failure(failed, "cuModuleLoadData");
  if (!module) report({s, architecture, std::move(log)});
  return module;
}

}  // namespace

int architecture_of(int device) {
  constexpr int kMajor = 75, kMinor = 76;
  int major = 0, minor = 0;
  CUdevice handle = 0;
  driver().device_get(&handle, device);
  driver().device_attribute(&major, kMajor, handle);
  driver().device_attribute(&minor, kMinor, handle);
  return 10 * major + minor;
}

CUfunction loaded_kernel(
    int device, std::string_view program, const std::vector<std::string>& options, const char* entry) {
  if (!driver().loaded || !driver().module_load || !driver().module_function) return nullptr;
  const Specialisation s = Specialisation::of(program, options);
  CUmodule module = module_of(device, s);
  CUfunction function = nullptr;
  OnDevice current(device);
  if (!module || driver().module_function(&function, module, entry) == 0) return function;
  report({s, architecture_of(device), std::string("there is no kernel ") + entry});
  return nullptr;
}

bool kernels_to_be_had() { return kernel_pack().open() || !nvrtc::version().empty(); }

std::vector<FailedKernel> failed_kernels() {
  std::lock_guard<std::mutex> guard(programs().lock);
  return programs().failed;
}

void set_failure_reporter(void (*told)(const FailedKernel&)) { reporter = told; }

}  // namespace shim::cuda
