#pragma once
// The BLAS (and LAPACK) library that NumPy brought into the process.
#include <string>

namespace shim {

struct LoadedBlas {
  void* handle = nullptr;  // of dlopen; null: there is none
  std::string path;
};
const LoadedBlas& loaded_blas();  // looked for once, among the libraries that are loaded then

}  // namespace shim
