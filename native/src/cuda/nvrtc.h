#pragma once
// NVIDIA's run-time compiler, loaded with dlopen when it is first asked for something.
#include <string>
#include <vector>

#include "core/slow_work.h"
#include "cuda/specialisation.h"

namespace shim::nvrtc {

struct Compiled {
  std::string cubin;  // empty: `log` says why
  std::string log;
  bool from_compiler = true;  // it is the program that does not compile; false: NVRTC is not there, or was stopped
};

// `architecture`: 90 for sm_90. Needs no GPU. `silent`: nobody waits for it, so a terminal is not told that it takes long. May be
// called by several threads at once.
Compiled compile(const cuda::Specialisation&, int architecture, bool silent = false);
void stop();            // ends the compilations under way, where NVRTC can, and lets no other begin
std::string version();  // "13.0", or empty when the library is not there
std::string use_library(const std::string& path);  // this one instead of what is found; what is wrong with it, or empty

// While it lives a terminal is told, once that has taken long, that a program is compiled.
class Patience {
 public:
  explicit Patience(const std::string& program);
  ~Patience();

 private:
  SlowWork work_;
};

}  // namespace shim::nvrtc
