#include "autograd/function_hook.h"

#include <algorithm>

#include "autograd/replaced_gradient.h"
#include "core/interpreter_lock.h"

namespace shim {
namespace {

Value tuple_of(const Grads& grads, ValueRoom& room) {
  Value* items = room.take(grads.size());
  for (size_t i = 0; i < grads.size(); ++i) items[i] = tensor_value(grads[i]);
  return tuple_value({items, grads.size()});
}

}  // namespace

void HookHandle::remove() {
  if (!hook || !hook->home) return;
  const Ref<Hook> kept(hook);  // it goes when the list is whole again
  std::erase_if(*hook->home, [&](const Ref<Hook>& other) { return other == kept; });
  kept->home = nullptr;
}

FunctionHook::~FunctionHook() {
  if (handle.expired()) return;
  const Locked handles_rest;
  if (const auto h = handle.lock()) h->hook = nullptr;
}

Tensor FunctionHook::replaced(const Value& given, const Tensor& was) const {
  CHECK(Kind::Type, given.is_tensor() || (form_ != one_tensor && given.tag == Value::none),
      "expected Variable, but hook returned '", class_of(given), "'");
  Tensor made(given.is_tensor() ? given.t : nullptr);
  check_replaced(was, made, [&] { return interpreter_functions.name(f_->object); });
  return made;
}

// What a node's hook gives in place of the gradients that it was given.
void FunctionHook::replace(const Value& given, Grads& grads) const {
  CHECK(Kind::Type, given.is_tuple(), "expected tuple, but hook returned '", class_of(given), "'");
  CHECK(Kind::Runtime, given.size == grads.size(), "hook '", interpreter_functions.name(f_->object),
      "' has returned an incorrect number of values (got ", given.size, ", but expected ", grads.size(), ")");
  Grads found;
  for (size_t i = 0; i < grads.size(); ++i) found.push_back(replaced(given.items[i], grads[i]));
  grads = std::move(found);
}

void FunctionHook::pre_of_dict(Grads& grads) {
  std::vector<Ref<FunctionHook>> hooks;  // they may change the dict
  interpreter_functions.see(f_->object, [&](const Value& all) {
    CHECK(Kind::Type, all.tag == Value::dict, "_backward_hooks is a dict, not a ", class_of(all));
    for (uint32_t i = 0; i < all.size; ++i)
      hooks.push_back(make<FunctionHook>(all.items[2 * i + 1].origin, one_tensor, index_));
  });
  for (auto& hook : hooks) hook->pre(grads);
}

void FunctionHook::pre(Grads& grads) {
  if (form_ == dict) return pre_of_dict(grads);
  if (form_ == one_tensor && index_ >= grads.size()) return;
  ValueRoom room;
  const Value given = form_ == tuple ? tuple_of(grads, room) : tensor_value(grads[index_]);
  interpreter_functions.call(f_->object, {&given, 1}, [&](const Value& r) {
    if (r.tag == Value::none) return;
    CHECK(Kind::Runtime, form_ != accumulated, "Tensor post accumulate grad hooks should return None.");
    if (form_ == one_tensor)
      grads[index_] = replaced(r, grads[index_]);
    else if (form_ == tuple)
      replace(r, grads);
  });
}

void FunctionHook::post(Grads& outputs, const Grads& inputs) {
  ValueRoom room;
  const Value given[] = {tuple_of(outputs, room), tuple_of(inputs, room)};
  interpreter_functions.call(f_->object, {given, 2}, [&](const Value& r) {
    if (r.tag != Value::none) replace(r, outputs);
  });
}

std::shared_ptr<HookHandle> add_hook(HookList& list, const Ref<FunctionHook>& hook) {
  list.add(Ref<Hook>(hook));
  auto handle = std::make_shared<HookHandle>(HookHandle{hook.get(), hook.get()});
  hook->handle = handle;
  return handle;
}

std::shared_ptr<HookHandle> add_node_hook(Node& n, void* f, bool before) {
  return add_hook(
      before ? n.pre_hooks : n.post_hooks, make<FunctionHook>(f, before ? FunctionHook::tuple : FunctionHook::after));
}

namespace {

AutogradMeta& of_hooked(TensorImpl& t) {
  CHECK(Kind::Runtime, t.requires_grad(), "cannot register a hook on a tensor that doesn't require gradient");
  return t.ensure_autograd();
}

}  // namespace

std::shared_ptr<HookHandle> add_tensor_hook(TensorImpl& t, void* f) {
  AutogradMeta& m = of_hooked(t);
  const auto hook = make<FunctionHook>(f, FunctionHook::one_tensor, m.grad_fn ? m.output_nr : 0);
  return add_hook(m.grad_fn ? m.grad_fn->tensor_pre_hooks : m.hooks, hook);
}

std::shared_ptr<HookHandle> add_accumulated_hook(TensorImpl& t, void* f) {
  AutogradMeta& m = of_hooked(t);
  CHECK(Kind::Runtime, !m.grad_fn, "post accumulate grad hooks cannot be registered on non-leaf tensors");
  return add_hook(m.post_accumulate, make<FunctionHook>(f, FunctionHook::accumulated));
}

void set_tensor_hooks(TensorImpl& t, void* dict) {
  AutogradMeta& m = t.ensure_autograd();
  std::vector<Ref<Hook>> old;
  m.hooks.leave();
  old.swap(m.hooks);
  if (dict) m.hooks.emplace_back(make<FunctionHook>(dict, FunctionHook::dict));
}

}  // namespace shim
