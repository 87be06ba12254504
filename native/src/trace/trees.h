#pragma once
// What is known of a compiled function.
#include <memory>
#include <string>
#include <vector>

#include "trace/session.h"

namespace shim::trace {

struct Trees {  // what a function does may depend on the default dtype, and on the GPU that is current
  size_t most_ways;
  bool together, graphs, resizes;
  Ref<HeldObject> backend;
  using Modes = std::pair<DType, int>;
  std::vector<std::pair<Modes, std::unique_ptr<Tree>>> by_modes;
  Tree& now() {
    const Modes modes{default_dtype(), Session::device_of_factories()};
    for (auto& [m, tree] : by_modes)
      if (m == modes || !looks_at(Check::modes)) return *tree;
    Tree& made = *by_modes.emplace_back(modes, std::make_unique<Tree>()).second;
    made.most_ways = most_ways;
    made.together = together;
    made.graphs = graphs;
    made.resizes = resizes;
    made.backend = backend;
    return made;
  }
};

inline std::vector<std::string> sources(Trees& trees) {  // of its programs
  std::vector<std::string> all;
  for (auto& [modes, tree] : trees.by_modes)
    for (auto& [stretch, together] : tree->programs) all.push_back(together.program->source());
  return all;
}

}  // namespace shim::trace
