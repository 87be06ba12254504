#pragma once
// Pointwise operators that become one kernel: an expression over a common shape, what it reads and what it writes.
#include <array>
#include <optional>
#include <string>
#include <vector>

#include "cpu/loops.h"
#include "program/step.h"

namespace shim::program {

struct Source {  // of an operand
  enum Kind : uint8_t { node, load, number } kind = node;
  uint16_t index = 0;
  bool operator==(const Source&) const = default;
};

struct Number {
  Scalar value;
  int32_t parameter = -1;            // of a call, which then has the value
  DType in = DType::f32;             // what kernels get it as
  DType rounded = DType::undefined;  // that it is first rounded to
};

struct Load {
  TensorRef ref;
  DType as;  // the dtype that is computed in
};

using RowKernel = void (*)(char* out, const char* in, int64_t n);  // one element of a row

struct Node {
  const char* op;             // the name of its loop and functor; a literal
  BlockKernel cpu = nullptr;  // null, and no `row`: a conversion from `in` to `result`
  DType in, result;
  DType narrow = DType::undefined;  // of a conversion: by way of this dtype
  uint8_t count = 0;
  Source args[4];
  RowKernel row = nullptr;  // it reduces rows
  bool of_row = false;      // there is one element a row
};

struct Store {
  TensorRef ref;
  Source value;
  DType from;
};

struct Group {
  Device device;
  Dims shape;
  bool rows = false;  // it reduces them: the last dim
  std::vector<Load> loads;
  std::vector<Number> numbers;
  std::vector<Node> nodes;
  std::vector<Store> stores;
  std::vector<std::string> names;  // of the operators, in order
  std::vector<size_t> steps;       // the same, by their places
  std::vector<int32_t> changed;    // storages of inputs and constants, once for each operator that writes to them
  int64_t numel() const { return product(shape); }
};

constexpr size_t kMostLoads = 20, kMostNodes = 56, kMostNumbers = 24;
constexpr size_t kMostStores = 24;  // of a CUDA kernel, once what nobody reads is gone

Dims row_shape(const Group&);  // with one element a row: the last dim is 1
// Adds a step that reduces rows. False: it is none; Refused may leave parts behind.
bool add_row_reduction(Group&, const Steps&, const Step&);
// The tensor whose rows the step reduces; null: it is no such step.
const TensorRef* reduced_rows(const Step&);

// Adds a step to the group. False, with the group as it was: the step is not pointwise, or does not fit in with what is there.
bool add_step(Group&, const Steps&, const Step&);
// Whether a group can begin with the step; its device and shape are set then.
bool begin_group(Group&, const Steps&, const Step&);
// A group of these steps, in their order; none: they do not fit together.
std::optional<Group> group_of(const Steps&, std::span<const size_t> steps);
// The nodes, loads and numbers (by Source::Kind) that stores to storages which are needed take.
std::array<std::vector<bool>, 3> used_parts(const Group&, const std::vector<bool>& storage_needed);
void remove_unused(
    Group&, const std::vector<bool>& storage_needed);  // stores that nobody reads, and what was only for them
// Two operators whose value between them nobody else takes become one loop, where there is one. Of a group on the CPU.
void join_loops(Group&);
bool known_on_cuda(const char* op, int operands);  // whether our CUDA sources compute it

}  // namespace shim::program
