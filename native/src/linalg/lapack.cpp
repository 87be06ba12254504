#include "linalg/lapack.h"

#include <dlfcn.h>

#include <string>

#include "cpu/loaded_blas.h"

namespace shim::lapack {
namespace {

struct Names {
  const char *prefix, *suffix;
  bool narrow;
};

template <class T> constexpr char letter() {
  return std::is_same_v<T, float>                 ? 's'
         : std::is_same_v<T, double>              ? 'd'
         : std::is_same_v<T, std::complex<float>> ? 'c'
                                                  : 'z';
}

// How the loaded library decorates LAPACK's names; null where it has none of them.
const Names* names() {
  static const Names all[] = {{"scipy_", "_64_", false}, {"", "_64_", false}, {"scipy_", "_", true}, {"", "_", true}};
  static const Names* found = [] {
    void* library = loaded_blas().handle;
    for (const Names& n : all)
      if (library && dlsym(library, (std::string(n.prefix) + "dsytrf" + n.suffix).c_str())) return &n;
    return static_cast<const Names*>(nullptr);
  }();
  return found;
}

void* function_of(char type, const char* name) {
  const std::string symbol = std::string(names()->prefix) + type + name + names()->suffix;
  return dlsym(loaded_blas().handle, symbol.c_str());
}

template <class F> bool load(F& f, char type, const char* name) {
  if (!name) return true;  // not a function of this kind of matrices
  f = reinterpret_cast<F>(function_of(type, name));
  return f != nullptr;
}

}  // namespace

bool narrow() {
  static const bool is = names() && names()->narrow;
  return is;
}

template <class T> const Functions<T>* functions() {
  static Functions<T> all;
  static const bool complete = [] {
    if (!names()) return false;
    bool ok = true;
#define SHIM_LOAD(member, real, complex, types) \
  ok = ok && load(all.member, letter<T>(), is_complex<T> ? complex : real);
    SHIM_LAPACK(SHIM_LOAD)
#undef SHIM_LOAD
    return ok;
  }();
  return complete ? &all : nullptr;
}

template const Functions<float>* functions<float>();
template const Functions<double>* functions<double>();
template const Functions<std::complex<float>>* functions<std::complex<float>>();
template const Functions<std::complex<double>>* functions<std::complex<double>>();

}  // namespace shim::lapack
