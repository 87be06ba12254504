#include "cuda/cudnn_library.h"

#include <dlfcn.h>

#include <string>
#include <vector>

#include "cuda/cublaslt.h"

namespace shim::cudnn {
namespace {

bool load(const std::string& path, Library& l) {
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library) return false;
  bool complete = true;
#define SHIM_LOAD(member, symbol, types)                              \
  l.member = reinterpret_cast<int(*) types>(dlsym(library, #symbol)); \
  complete = complete && l.member;
  SHIM_CUDNN(SHIM_LOAD)
  SHIM_CUDNN_GRAPH(SHIM_LOAD)
#undef SHIM_LOAD
  l.version = reinterpret_cast<size_t (*)()>(dlsym(library, "cudnnGetVersion"));
  l.opened = library;
  return l.loaded = complete && l.version && l.version() / 10000 == 9;
}

}  // namespace

const Library& library() {
  static const Library* found = [] {
    auto* l = new Library();
    if (!cuda::driver().loaded || !cublaslt::library().loaded) return l;  // cuDNN stands on cuBLASLt
    for (const std::string& path : cublaslt::library_candidates("cudnn"))
      if (load(path, *l)) break;
    return l;
  }();
  return *found;
}

Handle handle(int device) {
  struct Bound {
    Handle handle = nullptr;
    cuda::CUstream stream = nullptr;
    bool bound = false;
  };
  thread_local std::vector<Bound> bound;
  if (bound.size() <= size_t(device)) bound.resize(size_t(device) + 1);
  Bound& b = bound[size_t(device)];
  if (!b.handle && library().create(&b.handle) != 0) b.handle = nullptr;
  if (!b.handle) return nullptr;
  const cuda::CUstream now = cuda::current_stream(device);
  if (b.bound && b.stream == now) return b.handle;
  b.bound = library().set_stream(b.handle, now) == 0;
  b.stream = now;
  return b.bound ? b.handle : nullptr;
}

}  // namespace shim::cudnn
