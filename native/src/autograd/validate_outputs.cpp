// What a node returned, checked against the forward values that it is the gradients of.
#include <algorithm>

#include "autograd/graph_task.h"

namespace shim {

namespace {

bool same(IntArrayRef a, IntArrayRef b) { return std::equal(a.begin(), a.end(), b.begin(), b.end()); }

bool expandable(IntArrayRef from, IntArrayRef to) {  // whether `from` broadcasts to `to`
  if (from.size() > to.size()) return false;
  for (size_t i = 0; i < from.size(); ++i) {
    int64_t a = from[from.size() - 1 - i], b = to[to.size() - 1 - i];
    if (a != b && a != 1) return false;
  }
  return true;
}

}  // namespace

void graph_task::fit(Tensor& g, const InputMeta& meta, const Node& from, size_t index) {
  if (!g) return;
  if (!same(g->sizes(), meta.sizes)) {
    CHECK(Kind::Runtime, expandable(meta.sizes, g->sizes()), "Function ", from.name(),
        " returned an invalid gradient at index ", index, " - got ", bracketed(g->sizes()),
        " but expected shape compatible with ", bracketed(meta.sizes));
    g = engine_ops().sum_to(g, meta.sizes);
  }
  CHECK(Kind::Runtime, g->device() == meta.device || is_cpu_scalar(*g), "Function ", from.name(),
      " returned an invalid gradient at index ", index, " - expected device ", to_string(meta.device), " but got ",
      to_string(g->device()));
  if (g->dtype() != meta.dtype) g = engine_ops().cast(g, meta.dtype);
}

}  // namespace shim
