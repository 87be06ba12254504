#include "program/node_places.h"

#include <algorithm>

namespace shim::program {

void NodePlaces::place_nodes(const Group& g, const std::function<bool(size_t store, size_t node)>& suits) {
  const size_t n = g.nodes.size();
  std::vector<size_t> last(n, 0);
  for (size_t i = 0; i < n; ++i)
    for (int k = 0; k < g.nodes[i].count; ++k)
      if (g.nodes[i].args[k].kind == Source::node) last[g.nodes[i].args[k].index] = i;
  direct_.assign(n, -1);
  for (size_t s = 0; s < g.stores.size(); ++s) {
    if (g.stores[s].value.kind != Source::node) continue;
    const size_t i = g.stores[s].value.index;
    last[i] = n;
    if (direct_[i] < 0 && suits(s, i)) direct_[i] = int(s);
  }
  std::vector<int> free;
  for (size_t i = 0; i < n; ++i) {
    int place = -1;
    if (direct_[i] < 0) {
      place = free.empty() ? buffers_++ : free.back();
      if (!free.empty()) free.pop_back();
    }
    places_.push_back(place);
    for (size_t before = 0; before < i; ++before)
      if (last[before] == i && places_[before] >= 0) free.push_back(places_[before]);
    const Node& node = g.nodes[i];
    element_ = std::max({element_, int64_t(itemsize(node.in)), int64_t(itemsize(node.result))});
    const bool converts = !node.cpu && !node.row, narrow = node.narrow != DType::undefined;
    to_.push_back(converts ? converter(node.in, narrow ? node.narrow : node.result) : nullptr);
    back_.push_back(converts && narrow ? converter(node.narrow, node.result) : nullptr);
  }
  for (const Load& l : g.loads) element_ = std::max(element_, int64_t(itemsize(l.as)));
  for (const Number& k : g.numbers) element_ = std::max(element_, int64_t(itemsize(k.in)));
}

}  // namespace shim::program
