#include "trace/known_calls.h"

#include <algorithm>
#include <cstring>

#include "autograd/autocast.h"
#include "dispatch/call.h"
#include "ops/default_device.h"
#include "ops/interpreter_function.h"
#include "trace/checks.h"

namespace shim::trace {
namespace {

std::vector<std::string> texts_of(void* names) {
  std::vector<std::string> texts;
  if (names)
    interpreter_functions.see(names, [&](const Value& all) {
      for (const Value& name : std::span(all.items, all.size)) texts.emplace_back(name.chars, name.size);
    });
  return texts;
}

// Numbers to the bit, for 0.0 is not -0.0; other constants are alike where they are the same.
bool alike(const Value& a, const Value& b) {
  if (a.tag != b.tag || class_of(a) != class_of(b)) return false;
  if (a.tag == Value::real) return !std::memcmp(&a.f, &b.f, sizeof a.f);
  return a.tag == Value::integer && a.width == b.width && a.width != Value::wider && a.i == b.i;
}

bool same_constant(void* a, void* b) {
  if (a == b || !looks_at(Check::whole_constants)) return true;
  bool same = false;
  interpreter_functions.see(a,
      [&](const Value& one) { interpreter_functions.see(b, [&](const Value& other) { same = alike(one, other); }); });
  return same;
}

// Whether all of them are bare tensors, which are added.
bool add_tensors(std::span<void* const> objects, std::vector<TensorImpl*>& to) {
  return std::ranges::all_of(
      objects, [&](void* o) { return to.emplace_back(object_questions.bare_tensor(o)) != nullptr; });
}

}  // namespace

bool plain_here() {
  if (!looks_at(Check::whole_modes)) return true;
  return !any_autocast() && !interpreter_calls.functions_are_seen() && !gradient_transforms && !running_transforms &&
         !forward_gradients() && !InferenceMode::enabled() && !default_device();
}

bool KnownCalls::Known::has_names(void* given) const {
  if (given == (names ? names->object : nullptr)) return true;
  return given && names && texts_of(given) == names_texts;
}

bool KnownCalls::Known::takes(const CallObjects& call, std::vector<TensorImpl*>& tensors) const {
  if (call.arguments.size() != arguments.size() || !has_names(call.names)) return false;
  tensors.clear();
  for (size_t i = 0; i < arguments.size(); ++i) {
    void* const o = call.arguments[i];
    if (arguments[i] ? !same_constant(arguments[i]->object, o) : !add_tensors({&o, 1}, tensors)) return false;
  }
  return add_tensors(call.tensors, tensors) && whole->fits(tensors);
}

bool KnownCalls::run(const CallObjects& call, std::vector<Tensor>& results, bool* tuple) {
  const auto found = std::ranges::find_if(known_, [&](const Known& k) { return k.takes(call, tensors_); });
  if (found == known_.end()) return false;
  found->whole->run(tensors_, results);
  *tuple = found->tuple;
  return true;
}

bool KnownCalls::may_learn() {
  if (attempts_ == kMostAttempts || known_.size() == kMostKnown || !plain_here()) return false;
  return ++calls_ >= kCallsBefore;
}

std::optional<KnownCalls::Attempt> KnownCalls::attempt(const CallObjects& call) const {
  Attempt a;
  a.names = call.names;
  a.names_texts = texts_of(call.names);
  for (void* o : call.arguments) {
    const bool tensor = object_questions.bare_tensor(o);
    if (!tensor && !object_questions.is_constant(o)) return {};
    if (tensor) add_tensors({&o, 1}, a.tensors);
    a.arguments.push_back(tensor ? nullptr : o);
  }
  if (!add_tensors(call.tensors, a.tensors)) return {};
  for (const TensorImpl* t : a.tensors) {
    a.specs.push_back(TensorSpec::of(*t));
    a.versions.push_back(t->version());
  }
  return a;
}

void KnownCalls::look(Attempt& a, const Session& s, std::span<void* const> results, bool tuple) {
  if (!s.quiet()) return;
  std::vector<TensorImpl*> made;
  a.tuple = tuple;
  bool plain = add_tensors(results, made);
  for (size_t i = 0; i < a.tensors.size(); ++i)
    plain = plain && a.specs[i].lies_like(*a.tensors[i]) && a.tensors[i]->version() == a.versions[i];
  if (plain) a.whole = Whole::of(s, a.tensors, made);
  if (!a.whole) ++attempts_;
}

void KnownCalls::keep(Attempt&& a, const Session& s) {
  if (!a.whole || !a.whole->ran(s)) return;
  Known known{{}, {}, std::move(a.names_texts), std::move(a.whole), a.tuple};
  for (void* o : a.arguments) known.arguments.push_back(o ? make<HeldObject>(o) : nullptr);
  if (a.names) known.names = make<HeldObject>(a.names);
  known_.push_back(std::move(known));
}

}  // namespace shim::trace
