// Compiles our kernels without loading them, for tests: needs NVRTC and no GPU.
#include <string_view>

#include "cuda/gather_source.h"
#include "cuda/launch.h"
#include "cuda/norm_source.h"
#include "cuda/nvrtc.h"
#include "cuda/random_source.h"
#include "cuda/rows_source.h"
#include "cuda/sort_source.h"
#include "cuda/types_source.h"

namespace shim::cuda {

std::string compile_family(std::string_view family, std::vector<std::string> macros, int architecture) {
  const std::pair<std::string_view, const char*> sources[] = {
      {"gather", kGatherSource}, {"norm", kNormSource}, {"random", kRandomSource}, {"rows", kRowsSource}, {"sort", kSortSource}};
  for (auto& m : macros) m = "-D" + m;
  for (auto& [name, source] : sources) {
    if (name != family) continue;
    const nvrtc::Compiled c = nvrtc::compile(std::string(kTypesSource) + source, architecture, macros);
    return c.cubin.empty() ? c.log : "";
  }
  return "there is no such family of kernels";
}

}  // namespace shim::cuda
