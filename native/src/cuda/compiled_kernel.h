#pragma once
// A kernel that others compiled (Triton): what goes to the driver, and operators that stand for its launches in compiled functions.
#include <span>
#include <string>
#include <vector>

#include "core/held_object.h"
#include "cuda/driver.h"
#include "ops/operator.h"
#include "ops/value.h"

namespace shim::cuda {

enum class Slot : char { pointer, i8, i16, i32, i64, f32, f64 };

struct CompiledKernel {
  CUfunction function = nullptr;
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

constexpr size_t kGrid = 3, kMostParameters = 96;

// What adapters tell of a kernel, (function, threads, shared memory, name, why compiled functions launch it at once or None), and of
// its parameters, ((the place of the value among those of a call, slot, written), ...), seen at a call with such values: `places` gets
// the first of each. False where these do not fit.
bool read_kernel(const Value& told, CompiledKernel&);
bool read_parameters(const Value& told, std::span<const Value> values, CompiledKernel&, std::vector<size_t>& places);

// One value a parameter. Throws what the driver says.
void launch(const CompiledKernel&, const unsigned* grid, const Value*);

// Of an operator for its launches: the three numbers of the grid, and what the kernel gets.
Schema launch_schema(const CompiledKernel&, const std::vector<std::string>& names, std::string overload);
// The operator, which is for ever, keeps what keeps the kernel loaded.
void launch_by(Operator&, const CompiledKernel&, Ref<HeldObject> kept);

}  // namespace shim::cuda
