#include "distributed/mpi_library.h"

#include <dlfcn.h>

#include <array>

#include "distributed/failure.h"
#include "distributed/half_reductions.h"

namespace shim::distributed::mpi {
namespace {

std::string& path_of_library() {
  static std::string path;
  return path;
}

const char* load(Library& l, const std::string& path) {
  void* opened = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!opened) return dlerror();
  bool complete = true;
#define SHIM_LOAD(name, types)                                          \
  l.name = reinterpret_cast<int(*) types>(dlsym(opened, "MPI_" #name)); \
  complete = complete && l.name;
  SHIM_MPI(SHIM_LOAD)
#undef SHIM_LOAD
  return complete ? nullptr : "functions of MPI 5.0 are missing";
}

}  // namespace

void look_at(const std::string& path) { path_of_library() = path; }

const Library& library() {
  static const Library* found = [] {
    auto* l = new Library();
    const std::string& own = path_of_library();
    const char* error = load(*l, own.empty() ? "libmpi_abi.so.1" : own);
    l->loaded = !error;
    if (error) l->why_not = error;
    return l;
  }();
  return *found;
}

const Library& required() {
  const Library& l = library();
  CHECK(Kind::Runtime, l.loaded,
      "torch.distributed: a group of several processes on CPUs needs an MPI library: pip install shim-torch[mpi] (",
      l.why_not, ")");
  return l;
}

void check(int error, const char* what) {
  if (error == 0) return;
  char text[1024] = {};
  int n = 0;
  library().Error_string(error, text, &n);
  fail_between(FailureKind::backend, what, ": ", text);
}

Op half_reduction(bool bfloat16, uintptr_t op) {
  static const auto* made = [] {
    auto* all = new std::array<std::array<Op, 4>, 2>();
    for (int type = 0; type < 2; ++type)
      for (int which = 0; which < 4; ++which)
        check(required().Op_create_c(half_reducer(type == 1, which), 1, &(*all)[size_t(type)][size_t(which)]),
            "MPI_Op_create");
    return all;
  }();
  return (*made)[bfloat16][op - kSum];
}

}  // namespace shim::distributed::mpi
