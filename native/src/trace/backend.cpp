#include "trace/backend.h"

#include "ops/interpreter_function.h"
#include "trace/boundary.h"
#include "trace/calls.h"
#include "trace/described.h"

namespace shim::trace {
namespace {

using Path = std::span<const Session::Deferred>;

Ref<HeldObject> lowered(const Session& session, Path path, const Boundary& b, const std::vector<Value>& tensors) {
  Described described;
  const Value args[] = {held_value(session.tree().backend->object), described.nodes(path), described.slots(b.given),
      described.slots(b.wanted), tuple_value(tensors)};
  Ref<HeldObject> made;
  interpreter_functions.call(
      lowering->object, {args, std::size(args)}, [&](const Value& f) { made = make<HeldObject>(f.origin); });
  return made;
}

}  // namespace

bool run_by_backend(Session& session, Path path, std::vector<Ref<Storage>>& storages) {
  const Boundary b = boundary_of(path, storages);
  Stretch stretch{path.front().node, path.back().node, {}, {}};
  for (const Session::Deferred& d : path) stretch.pass(*d.node);
  for (const Ref<Storage>& s : storages) stretch.outlive.push_back(s && s->hidden() && s->use_count() > 1);
  std::vector<Tensor> tensors;
  std::vector<Value> given;
  for (const TensorSpec& s : b.given) tensors.push_back(s.over(storages[s.slot]));
  for (const Tensor& t : tensors) given.push_back(tensor_value(t));
  const WithoutModes without;
  auto& known = session.tree().lowered;
  if (known.size() >= Tree::kMostPrograms) known.clear();
  const auto found = known.find(stretch);
  const Ref<HeldObject> function = found == known.end() ? lowered(session, path, b, given) : found->second;
  if (stretch.kept) known.emplace(std::move(stretch), function);
  std::vector<std::pair<Ref<Storage>, uint32_t>> versions;  // writes were counted when the operators were called
  for (const TensorSpec& s : b.given) versions.emplace_back(storages[s.slot], storages[s.slot]->version().load());
  std::vector<Tensor> made;
  interpreter_functions.call(function->object, given,
      [&](const Value& gave) { each_tensor(&gave, 1, [&](TensorImpl& t) { made.emplace_back(&t); }); });
  take(b, made, storages);
  for (auto& [storage, version] : versions) storage->version() = version;
  return ++session.programs, true;
}

}  // namespace shim::trace
