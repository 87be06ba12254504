#pragma once
// c10::Dispatcher: operators by name, called with C++ values.
#include <shim/library.h>

namespace shim {

template <class T> ShimCell lent(const std::vector<T>& v) { return cell(c10::ArrayRef<T>(v)); }
template <class T> ShimCell lent(const c10::ArrayRef<T>& v) { return cell(v); }
inline ShimCell lent(const std::string& s) { return cell(std::string_view(s)); }
inline ShimCell lent(const c10::IValue& v) { return v.shim_cell(); }
template <class T> ShimCell lent(const T& v) { return cell(v); }

}  // namespace shim

namespace c10 {

class DispatchKeySet {
 public:
  DispatchKeySet() = default;
  DispatchKeySet(DispatchKey k) : bits_(uint64_t(1) << unsigned(k)) {}
  bool has(DispatchKey k) const { return bits_ >> unsigned(k) & 1; }
  friend DispatchKeySet operator|(DispatchKeySet a, DispatchKeySet b) { return a.bits_ |= b.bits_, a; }
  friend DispatchKeySet operator-(DispatchKeySet a, DispatchKeySet b) { return a.bits_ &= ~b.bits_, a; }
  friend DispatchKeySet operator&(DispatchKeySet a, DispatchKeySet b) { return a.bits_ &= b.bits_, a; }

 private:
  uint64_t bits_ = 0;
};

namespace impl {
// Kernels of Autograd or of Autocast keys are passed over while this lives. Errors: NotImplementedError for other keys.
struct ExcludeDispatchKeyGuard {
  explicit ExcludeDispatchKeyGuard(DispatchKeySet keys) {
    for (auto k : {DispatchKey::Autograd, DispatchKey::AutogradCPU, DispatchKey::AutogradCUDA})
      if (keys.has(k) && !autograd_) autograd_.emplace();
    for (auto k : {DispatchKey::Autocast, DispatchKey::AutocastCPU, DispatchKey::AutocastCUDA})
      if (keys.has(k)) autocast_ = shim::python<bool>("exclude_autocast", autocast_);
    TORCH_CHECK_NOT_IMPLEMENTED(
        autograd_ || autocast_, "ExcludeDispatchKeyGuard leaves out Autograd and Autocast keys only");
  }
  ExcludeDispatchKeyGuard(const ExcludeDispatchKeyGuard&) = delete;
  ~ExcludeDispatchKeyGuard() {
    if (autocast_) shim::guarded([] { shim::python<void>("include_autocast"); });
  }

 private:
  std::optional<at::AutoDispatchBelowAutograd> autograd_;
  bool autocast_ = false;
};
}  // namespace impl

struct OperatorName {
  std::string name, overload_name;
  OperatorName(std::string n, std::string o) : name(std::move(n)), overload_name(std::move(o)) {}
};

template <class F> class TypedOperatorHandle;
template <class R, class... A> class TypedOperatorHandle<R(A...)> {
 public:
  explicit TypedOperatorHandle(const shim::Op& op) : op_(op) {}
  R call(A... arguments) const {
    const ShimCell cells[] = {shim::lent(arguments)..., shim::none_cell()};
    if constexpr (std::is_reference_v<R>) {
      shim::call<void>(op_, cells, sizeof...(A));
      return written<A...>(arguments...);
    } else {
      return shim::call<R>(op_, cells, sizeof...(A));
    }
  }
  // Kernels of Autograd keys are passed over, where the set has none of them.
  R redispatch(DispatchKeySet keys, A... arguments) const {
    if (keys.has(DispatchKey::Autograd)) return call(arguments...);
    at::AutoDispatchBelowAutograd below;
    return call(arguments...);
  }

 private:
  template <class First, class... Rest> static R written(First& first, Rest&... rest) {
    if constexpr (std::is_same_v<std::decay_t<First>, at::Tensor> && std::is_convertible_v<First&, R>)
      return first;
    else
      return written<Rest...>(rest...);
  }
  shim::Op op_;
};

class OperatorHandle {
 public:
  OperatorHandle(std::shared_ptr<const OperatorName> name, const ShimOp* entry)
      : name_(std::move(name)), op_{name_->name.c_str(), name_->overload_name.c_str(), entry} {}
  const OperatorName& operator_name() const { return *name_; }
  template <class F> TypedOperatorHandle<F> typed() const { return TypedOperatorHandle<F>(op_); }
  // Arguments on top of the stack, results in their place.
  void callBoxed(std::vector<IValue>& stack) const {
    std::vector<ShimCell> cells;
    for (auto& v : stack) cells.push_back(v.shim_cell());
    auto results = shim::python<IValue>(
        "call_boxed", name_->name, name_->overload_name, shim::pointer_cell(SHIM_LIST, cells.data(), cells.size()));
    stack = results.toListRef();
  }
  void callBoxed(std::vector<IValue>* stack) const { callBoxed(*stack); }

 private:
  std::shared_ptr<const OperatorName> name_;
  shim::Op op_;
};

class Dispatcher {
 public:
  static Dispatcher& singleton() {
    static Dispatcher d;
    return d;
  }
  static Dispatcher& realSingleton() { return singleton(); }
  std::optional<OperatorHandle> findSchema(const OperatorName& name) const {
    // Names are kept: what was found is called for as long as the process lives.
    auto kept = std::make_shared<const OperatorName>(name);
    const ShimOp* entry = shim_cxx_op(kept->name.c_str(), kept->overload_name.c_str());
    if (!entry) return std::nullopt;
    return OperatorHandle(*new std::shared_ptr<const OperatorName>(kept), entry);
  }
  OperatorHandle findSchemaOrThrow(const char* name, const char* overload) const {
    auto found = findSchema({name, overload});
    TORCH_CHECK(found, "Could not find schema for ", name, *overload ? "." : "", overload, ".");
    return *found;
  }
};

}  // namespace c10
