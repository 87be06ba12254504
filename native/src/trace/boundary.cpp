#include "trace/boundary.h"

#include <algorithm>

#include "ops/kernels.h"

namespace shim::trace {

using Path = std::span<const Session::Deferred>;
using Slots = std::vector<Ref<Storage>>;

Boundary boundary_of(Path path, const Slots& storages) {
  Boundary b;
  std::vector<bool> seen(storages.size());
  const auto meet = [&](const TensorSpec& s, std::vector<TensorSpec>& into, bool take) {
    if (!seen[s.slot] && take) into.push_back(s);
    seen[s.slot] = true;
  };
  for (const Session::Deferred& d : path) {
    for (const TensorSpec& s : d.node->inputs) meet(s, b.given, true);
    for (const TensorSpec& s : d.node->results) meet(s, b.wanted, storages[s.slot]->use_count() > 1);
  }
  return b;
}

void take(const Boundary& b, const std::vector<Tensor>& made, Slots& storages) {
  CHECK(Kind::Runtime, made.size() == b.wanted.size(), "a backend's function gave ", made.size(),
      " tensors where its graph gives ", b.wanted.size());
  std::vector<const Storage*> taken;
  for (const TensorSpec& s : b.given) taken.push_back(storages[s.slot].get());
  for (size_t i = 0; i < made.size(); ++i) {
    const TensorSpec& spec = b.wanted[i];
    Tensor t = made[i];
    CHECK(Kind::Runtime, t->dtype() == spec.dtype && std::ranges::equal(t->sizes(), spec.sizes()),
        "a backend's function gave another tensor than its graph gives");
    const bool own = t->storage()->may_hide() && t->storage()->nbytes() >= spec.nbytes && spec.lies_like(*t) &&
                     std::ranges::find(taken, t->storage().get()) == taken.end();
    if (!own) {
      Tensor copy = spec.over(allocate(spec.nbytes, spec.device));
      copy_(copy, t);
      t = copy;
    }
    taken.push_back(t->storage().get());
    storages[spec.slot]->fill_pending(*t->storage());
  }
}

}  // namespace shim::trace
