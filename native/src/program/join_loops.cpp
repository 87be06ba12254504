// Nodes of CPU groups whose loops become one.
#include <algorithm>

#include "cpu/joined_loops.h"
#include "program/group.h"

namespace shim::program {
namespace {

std::vector<int> uses_of_nodes(const Group& g) {
  std::vector<int> uses(g.nodes.size());
  const auto use = [&](Source s) {
    if (s.kind == Source::node) ++uses[s.index];
  };
  for (const Node& n : g.nodes) std::for_each(n.args, n.args + n.count, use);
  for (const Store& s : g.stores) use(s.value);
  return uses;
}

bool of_floats(const Node& n) { return n.cpu && n.count == 2 && n.in == DType::f32 && n.result == DType::f32; }

}  // namespace

void join_loops(Group& g) {
  const std::vector<int> uses = uses_of_nodes(g);
  for (Node& then : g.nodes)
    for (int k = 0; k < 2 && of_floats(then); ++k) {
      const Source s = then.args[k];
      if (s.kind != Source::node || uses[s.index] != 1 || !of_floats(g.nodes[s.index])) continue;
      const Node& first = g.nodes[s.index];
      if (const BlockKernel loop = joined_loop(first.op, then.op, k == 1))
        then = {"joined", loop, DType::f32, DType::f32, DType::undefined, 3,
            {first.args[0], first.args[1], then.args[1 - k]}};
    }
  int32_t last = 0;
  for (const Store& s : g.stores) last = std::max(last, s.ref.storage);
  remove_unused(g, std::vector<bool>(size_t(last) + 1, true));
}

}  // namespace shim::program
