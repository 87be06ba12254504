#include "distributed/nccl_library.h"

#include <dlfcn.h>

#include <cstdlib>

#include "cuda/cublaslt.h"
#include "distributed/failure.h"

namespace shim::distributed::nccl {
namespace {

bool take(Library& l, void* opened, const std::string& path) {
  const char* missing = nullptr;
#define SHIM_LOAD(member, symbol, types)                                \
  l.member = reinterpret_cast<Result(*) types>(dlsym(opened, #symbol)); \
  if (!l.member) missing = #symbol;
  SHIM_NCCL(SHIM_LOAD)
#undef SHIM_LOAD
  l.error_text = reinterpret_cast<const char* (*)(Result)>(dlsym(opened, "ncclGetErrorString"));
  l.last_error = reinterpret_cast<const char* (*)(Comm)>(dlsym(opened, "ncclGetLastError"));
  if (!missing && !l.error_text) missing = "ncclGetErrorString";
  l.path = path;
  if (!missing && (l.version(&l.version_number) != kSuccess || l.version_number < kOldest))
    missing = "what NCCL 2.18.1 and later have";
  l.loaded = !missing;
  if (missing) l.why_not = str(path, " lacks ", missing);
  return l.loaded;
}

// One library in the process: that which another part of the program has loaded, before any other.
Library* found() {
  auto* l = new Library();
  if (!cuda::driver().loaded) return l->why_not = cuda::driver().why, l;
  if (const char* own = std::getenv("SHIM_NCCL_PATH")) {
    void* opened = dlopen(own, RTLD_NOW | RTLD_LOCAL);
    if (!opened || !take(*l, opened, own)) l->why_not = opened ? l->why_not : str(own, " could not be loaded");
    return l;
  }
  if (void* there = dlopen("libnccl.so.2", RTLD_NOW | RTLD_NOLOAD); there && take(*l, there, "libnccl.so.2")) return l;
  std::vector<std::string> candidates = cublaslt::library_candidates("nccl");
  candidates.emplace_back("libnccl.so.2");
  for (const std::string& path : candidates) {
    void* opened = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (opened ? take(*l, opened, path) : path[0] == '/') {
      if (l->loaded) return l;
      l->why_not = str(path, " could not be loaded");
    }
  }
  if (l->why_not.empty()) l->why_not = "libnccl.so.2 was not found";
  return l;
}

}  // namespace

const Library& library() {
  static const Library* l = found();  // immortal, as its communicators are
  return *l;
}

const Library& required() {
  const Library& l = library();
  CHECK(Kind::Runtime, l.loaded,
      "torch.distributed: collectives of CUDA tensors need NCCL 2.18.1 or later: pip install shim-torch[nccl13] (or "
      "[nccl12]), or set SHIM_NCCL_PATH (",
      l.why_not, ")");
  return l;
}

void check(Result r, const char* what, Comm comm) {
  if (r == kSuccess || r == kInProgress) return;
  const Library& l = library();
  const char* more = l.last_error ? l.last_error(comm) : nullptr;
  fail_between(FailureKind::backend, "NCCL error in ", what, ": ", l.error_text(r),
      more && *more ? str(". Last error: ", more) : std::string());
}

}  // namespace shim::distributed::nccl
