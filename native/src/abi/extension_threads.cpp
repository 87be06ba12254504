// Where an extension waits for threads of its own. They may call operators, which take the GIL: a binding that holds it
// lets go of it while it waits, as at::parallel_for does. Extensions are linked with --wrap for these functions.
#include "core/interpreter_lock.h"

#include <dlfcn.h>

#include <thread>

using namespace shim;

extern "C" {

__attribute__((visibility("default"), used)) void __wrap__ZNSt6thread4joinEv(std::thread* waited_for) {
  Unlocked others_run;
  waited_for->join();
}

// OpenMP's threads, of which the calling one is one. The library is the extension's, which this one does not link to.
__attribute__((visibility("default"), used)) void __wrap_GOMP_parallel(
    void (*region)(void*), void* data, unsigned threads, unsigned flags) {
  using Parallel = void (*)(void (*)(void*), void*, unsigned, unsigned);
  static const auto parallel = [] {
    void* library = dlopen("libgomp.so.1", RTLD_NOW);
    return library ? Parallel(dlsym(library, "GOMP_parallel")) : nullptr;
  }();
  if (!parallel) return region(data);  // a team of one is what OpenMP may always give
  Unlocked others_run;
  parallel(region, data, threads, flags);
}
}
