#pragma once
// A compiled Triton kernel: what goes to the driver, and the operator that stands for its launches in compiled functions.
#include <string>
#include <vector>

#include "cuda/driver.h"
#include "ops/operator.h"
#include "ops/value.h"

namespace shim::triton {

enum class Slot : char { pointer, i8, i16, i32, i64, f32, f64 };

struct Code {
  cuda::CUfunction function = nullptr;
  unsigned threads = 0, shared = 0;
  int device = 0;
  struct Parameter {
    Slot slot;
    bool written = true;   // the kernel may write there
    bool aligned = false;  // it was compiled for addresses that are multiples of 16
  };
  std::vector<Parameter> parameters;
  std::string name;
  const char* at_once = nullptr;  // why compiled functions do not defer its launches; lives as long as the process
};

constexpr size_t kGrid = 3;

// One value a parameter. Throws what the driver says.
void launch(const Code&, const unsigned* grid, const Value*);

// Its arguments are the three numbers of the grid and those of the kernel, whose memory stays loaded: `kept`, which it keeps.
Operator& make_operator(const Code&, const std::vector<std::string>& names, void* kept);

}  // namespace shim::triton
