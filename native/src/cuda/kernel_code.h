#pragma once
// The machine code of our kernels: from the pack, the cache on disk or the compiler, the same never compiled twice at once.
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "cuda/kernel_pack.h"
#include "cuda/specialisation.h"

namespace shim::cuda {

struct Code {
  std::string_view bytes;                     // empty: `log` says why
  std::shared_ptr<const std::string> memory;  // null where they are in the pack
  std::string log;
};

// Waits, without Python's lock, for the compiler or for another thread that compiles the same. `before` is called when it has to.
// `again`: the driver did not load what was found, so it is compiled.
Code code_for(const Specialisation&, int architecture, const std::function<void()>& before, bool again = false);
// For code_for to find later, unless it is in the pack, on disk or being made. Says whether it was compiled.
bool make_ahead(const Specialisation&, int architecture);

// Where things are; found by the binding layer, which knows the Python environment, and asked for once.
struct KernelPlaces {
  std::string pack, table;  // empty: there is none
};
using PlaceFinder = KernelPlaces (*)();
void set_kernel_places(PlaceFinder);
const KernelPlaces& kernel_places();
const KernelPack& kernel_pack();

// Where programs' code came from since the process began.
struct CodeCounts {
  unsigned long long pack, kept, compiled, ahead;
};
CodeCounts code_counts();

}  // namespace shim::cuda
