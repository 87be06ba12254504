#include "distributed/mpi_library.h"

#include <dlfcn.h>

#include <cmath>

#include "cpu/convert.h"
#include "distributed/failure.h"

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

template <class Half, float combine(float, float)> void reduce_halves(void* in, void* inout, Count* n, Type*) {
  const Half* a = static_cast<const Half*>(in);
  Half* b = static_cast<Half*>(inout);
  for (Count i = 0; i < *n; ++i) {
    const float found = combine(to_float(a[i]), to_float(b[i]));
    if constexpr (std::is_same_v<Half, BFloat16>)
      b[i] = to_bfloat16(found);
    else
      b[i] = to_half(found);
  }
}

float sum(float a, float b) { return a + b; }
float product(float a, float b) { return a * b; }
float smaller(float a, float b) { return a < b ? a : b; }
float larger(float a, float b) { return a > b ? a : b; }

template <class Half> Op operation(uintptr_t op) {
  static const auto make = [](Reduction* function) {
    Op made = nullptr;
    check(required().Op_create_c(function, 1, &made), "MPI_Op_create");
    return made;
  };
  static const Op all[] = {make(reduce_halves<Half, sum>), make(reduce_halves<Half, smaller>),
      make(reduce_halves<Half, larger>), make(reduce_halves<Half, product>)};
  return all[op - kSum];
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

Op half_reduction(bool bfloat16, uintptr_t op) { return bfloat16 ? operation<BFloat16>(op) : operation<Half>(op); }

}  // namespace shim::distributed::mpi
