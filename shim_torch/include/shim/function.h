#pragma once
// torch::autograd::Function.
#include <shim/value.h>

namespace torch {
namespace autograd {
using Variable = at::Tensor;
using variable_list = std::vector<at::Tensor>;
using tensor_list = variable_list;
using c10::AutoGradMode;
using c10::GradMode;
using c10::NoGradGuard;

class AutogradContext {
 public:
  std::unordered_map<std::string, c10::IValue> saved_data;
  void save_for_backward(variable_list v) { to_save_ = std::move(v), tell(SHIM_SAVE, to_save_); }
  variable_list get_saved_variables() const {
    ShimCell c{};
    shim::check(shim_cxx_context(python_, SHIM_SAVED, nullptr, &c));
    return shim::Taken<variable_list>::from(c);
  }
  void mark_dirty(const variable_list& v) { tell(SHIM_DIRTY, v); }
  void mark_non_differentiable(const variable_list& v) { tell(SHIM_NOT_DIFFERENTIABLE, v); }
  void set_materialize_grads(bool on) {
    const ShimCell c = shim::cell(on);
    shim::check(shim_cxx_context(python_, SHIM_MATERIALIZE, &c, nullptr));
  }
  bool needs_input_grad(size_t i) const {
    ShimCell c{};
    shim::check(shim_cxx_context(python_, SHIM_NEEDS, nullptr, &c));
    const bool needs = i + 1 < c.n && static_cast<const uint8_t*>(c.p)[i + 1];  // the first is the call's state
    shim_cxx_release(&c, 1);
    return needs;
  }
  bool needs_input_grad(std::initializer_list<size_t> all) const {
    for (size_t i : all)
      if (needs_input_grad(i)) return true;
    return false;
  }
  struct Within {  // the Python context belongs to one call
    AutogradContext& c;
    void* before;
    Within(AutogradContext& ctx, void* python) : c(ctx), before(std::exchange(ctx.python_, python)) {}
    ~Within() { c.python_ = before; }
  };

 private:
  void tell(int what, const variable_list& v) {
    const ShimCell c = shim::cell(at::TensorList(v));
    shim::check(shim_cxx_context(python_, what, &c, nullptr));
    to_save_.clear();
  }
  void* python_ = nullptr;
  variable_list to_save_;
};

// Which arguments are inputs: tensors, optional ones that are there, and lists of them.
inline void collect(variable_list& in, std::vector<bool>& is, const at::Tensor& t) {
  in.push_back(t), is.push_back(true);
}
inline void collect(variable_list& in, std::vector<bool>& is, const std::optional<at::Tensor>& t) {
  if (t && t->defined())
    collect(in, is, *t);
  else
    is.push_back(false);
}
inline void collect(variable_list& in, std::vector<bool>& is, at::TensorList l) {
  for (auto& t : l) collect(in, is, t);
}
inline void collect(variable_list& in, std::vector<bool>& is, const variable_list& l) {
  collect(in, is, at::TensorList(l));
}
template <class T,
    std::enable_if_t<!std::is_convertible_v<T, at::TensorList> && !std::is_same_v<T, std::optional<at::Tensor>>, int> =
        0>
void collect(variable_list&, std::vector<bool>& is, const T&) {
  is.push_back(false);
}

template <class T> struct Function {
  template <class X = T, class... A> static auto apply(A&&... args) {
    using Result = decltype(X::forward(std::declval<AutogradContext*>(), std::forward<A>(args)...));
    struct Call {
      AutogradContext ctx;
      std::vector<bool> is_input;
      std::function<Result(AutogradContext*)> forward;
    };
    static const ShimFunction functions = {name<X>(),
        [](void* state, void* python, ShimCell* result) {
          return shim::guarded([&] {
            auto& call = *static_cast<Call*>(state);
            AutogradContext::Within within(call.ctx, python);
            *result = shim::boxed(list_of(call.forward(&call.ctx)));
            call.forward = nullptr;
          });
        },
        [](void* state, void* python, ShimTensor* const* grads, size_t n, ShimCell* result) {
          return shim::guarded([&] {
            auto& call = *static_cast<Call*>(state);
            AutogradContext::Within within(call.ctx, python);
            variable_list given, kept;
            for (size_t i = 0; i < n; ++i) given.push_back(shim::tensor_of(grads[i]));
            variable_list all = X::backward(&call.ctx, given);
            const auto& is = call.is_input;
            while (all.size() > is.size() && !all.back().defined()) all.pop_back();
            TORCH_CHECK(all.size() == is.size(), "function ", name<X>(),
                "Backward returned an incorrect number of gradients (expected ", is.size(), ", got ", all.size(), ")");
            for (size_t i = 0; i < all.size(); ++i)
              if (is[i])
                kept.push_back(all[i]);
              else
                TORCH_CHECK(!all[i].defined(), "function ", name<X>(),
                    "Backward returned a gradient different from None at position ", i + 1,
                    ", but the corresponding forward input was not a Variable");
            *result = shim::boxed(kept);
          });
        },
        [](void* state) { delete static_cast<Call*>(state); }};
    auto* call = new Call;
    variable_list inputs;
    (collect(inputs, call->is_input, args), ...);
    call->forward = [&](AutogradContext* ctx) { return X::forward(ctx, std::forward<A>(args)...); };
    ShimCell out{};
    shim::check(
        shim_cxx_apply(&functions, call, reinterpret_cast<ShimTensor* const*>(inputs.data()), inputs.size(), &out));
    variable_list results = shim::Taken<variable_list>::from(out);
    if constexpr (std::is_same_v<Result, at::Tensor>)
      return results.at(0);
    else
      return results;
  }

 private:
  template <class X> static const char* name() {
    static const std::string text = [](std::string s) {  // "... [with X = ns::Name; ...]"
      s = s.substr(s.find("X = ") + 4);
      s = s.substr(0, s.find_first_of(";]"));
      const size_t colon = s.rfind("::");
      return colon == std::string::npos ? s : s.substr(colon + 2);
    }(__PRETTY_FUNCTION__);
    return text.c_str();
  }
  static variable_list list_of(const at::Tensor& t) { return {t}; }
  static variable_list list_of(variable_list v) { return v; }
};

template <class... A> bool any_variable_requires_grad(const A&... a) {
  variable_list all;
  std::vector<bool> is;
  (collect(all, is, a), ...);
  return std::any_of(all.begin(), all.end(), [](const at::Tensor& t) { return t.defined() && t.requires_grad(); });
}
inline bool any_variable_requires_grad(const variable_list& all) {
  return std::any_of(all.begin(), all.end(), [](const at::Tensor& t) { return t.defined() && t.requires_grad(); });
}
namespace impl {
inline void bump_version(const at::Tensor& t) { shim_cxx_fact(t.shim_handle(), SHIM_BUMP_VERSION, 0); }
}  // namespace impl
inline void increment_version(const at::Tensor& t) { impl::bump_version(t); }
}  // namespace autograd
}  // namespace torch
