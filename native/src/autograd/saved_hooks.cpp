#include "autograd/saved_hooks.h"

#include <vector>

#include "core/interpreter_lock.h"
#include "ops/interpreter_function.h"

namespace shim {
namespace {

class Packed final : public PackedValue {
 public:
  Packed(Ref<HeldObject> value, Ref<HeldObject> unpack) : value_(std::move(value)), unpack_(std::move(unpack)) {}
  Tensor unpack() override {
    Tensor found;
    const Value given = held_value(value_->object);
    interpreter_functions.call(unpack_->object, {&given, 1}, [&](const Value& r) {
      CHECK(Kind::Type, r.is_tensor(),
          "Output of saved tensor unpack_hook expected to be a Tensor but got result of type ", class_of(r));
      found = Tensor(r.t);
    });
    return found;
  }
  void traverse(Visitor& v) const override {
    v.python(value_->object);
    v.python(unpack_->object);
  }

 private:
  Ref<HeldObject> value_, unpack_;
};

Ref<PackedValue> packed_by(void* pack, void* unpack, const Tensor& t) {
  const NoGrad off;
  const Locked lock;
  const Ref<HeldObject> unpacks = make<HeldObject>(unpack);  // the call may take the pair off, which is its end
  const uint32_t version = t->version();
  const Value given = tensor_value(t);
  Ref<PackedValue> packed;
  interpreter_functions.call(pack, {&given, 1},
      [&](const Value& r) { packed = Ref<PackedValue>(new Packed(make<HeldObject>(r.origin), unpacks)); });
  CHECK(Kind::Runtime, t->version() == version,
      "A saved tensor pack hook is modifying its input in place. Tensors provided as input to pack hook cannot be "
      "modified by in-place "
      "operations as this can lead to unexpected side-effects. Please open an issue if you need to perform in-place "
      "operations on the input to a pack hook.");
  return packed;
}

struct HookPair {
  void *pack, *unpack;
};
thread_local std::vector<HookPair> defaults;  // what a thread that ends leaves there is kept for ever
thread_local std::string disabled;            // why default hooks may not be used; empty: they may

Ref<PackedValue> pack_default(const Tensor& t) {
  if (defaults.empty() || t->wrapped_number) return {};
  // The hook may leave its context, which lets go of both.
  const auto pack = make<HeldObject>(defaults.back().pack), unpack = make<HeldObject>(defaults.back().unpack);
  struct Off {
    Off() { SavedHooks::depth() = 0; }
    ~Off() { SavedHooks::depth() = int(defaults.size()); }
  } off;
  return packed_by(pack->object, unpack->object, t);
}

}  // namespace

namespace saved_hooks {

void pack(SavedTensor& s, void* pack, void* unpack) {
  CHECK(Kind::Runtime, !s.released,
      "Calling register_hooks on a saved tensor after it has been freed. Saved intermediate values of the graph are "
      "freed when you call .backward() or "
      "autograd.grad(). Specify retain_graph=True if you need to backward through the graph a second time or if you "
      "need to access saved variables after calling backward.");
  CHECK(Kind::Runtime, s.defined(), "Calling register_hooks on a saved tensor with value None is forbidden");
  CHECK(Kind::Runtime, !s.has_hooks(),
      "Calling register_hooks on a saved tensor whose hooks have already been set. Hint: only one pair of hooks is "
      "allowed at a time.");
  s.set_packed(packed_by(pack, unpack, s.to_pack()));
}

void push(void* pack, void* unpack) {
  if (!disabled.empty()) fail(Kind::Runtime, disabled);
  for (void* f : {pack, unpack}) interpreter_objects.retain(f);
  defaults.push_back({pack, unpack});
  if (!SavedHooks::pack) SavedHooks::pack = pack_default;
  SavedHooks::depth() = int(defaults.size());
}

void pop() {
  if (defaults.empty()) return;
  const HookPair pair = defaults.back();
  defaults.pop_back();
  SavedHooks::depth() = int(defaults.size());
  for (void* f : {pair.pack, pair.unpack}) interpreter_objects.release(f);
}

std::optional<std::pair<void*, void*>> top() {
  if (defaults.empty()) return {};
  return std::pair(defaults.back().pack, defaults.back().unpack);
}

size_t pushed() { return defaults.size(); }

void restore(size_t pushed) {
  while (defaults.size() > pushed) pop();
}

void disable(std::string_view why, std::optional<bool> fail_if_set) {
  if (fail_if_set.value_or(true) && !defaults.empty()) fail(Kind::Runtime, std::string(why));
  disabled = why;
}

void enable() { disabled.clear(); }

std::optional<std::string> why_disabled() { return disabled.empty() ? std::nullopt : std::optional(disabled); }

}  // namespace saved_hooks
}  // namespace shim
