#pragma once
// What a group computes, as the macros that its CUDA kernels are compiled with (cuda/kernels/fused_nodes.cuh).
#include <string>
#include <vector>

#include "program/run_group.h"

namespace shim::program {

constexpr size_t kDims = 8;

struct GroupMemory {  // as in fused_nodes.cuh
  const void* loads[kMostLoads] = {};
  void* stores[kMostStores] = {};
  uint64_t numbers[kMostNumbers] = {};
  void put_numbers(const Group&, std::span<const Scalar> parameters);
};

std::string operand_name(Source);
enum class Loaded : uint8_t {
  each,
  one,
  of_column
};  // an element for each of the group's, one for all or for a row, one a column
std::vector<std::string> group_macros(const Group&, const std::vector<Loaded>&);  // of loads, numbers, nodes and stores

}  // namespace shim::program
