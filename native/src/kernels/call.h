#pragma once
// register_kernel<&sort, kCpu>("sort"): an operator's call of a typed kernel (ops/kernel.h), derived from the function's own type.
#include <utility>

#include "autograd/recording.h"
#include "kernels/parameter.h"

namespace shim {

struct KernelTraits {
  On on = On::any;
  bool history = true;  // false: runs only where no gradient is wanted of the call (composites, whose parts record it)
};
constexpr KernelTraits kAny{}, kCpu{On::cpu}, kCuda{On::cuda};
constexpr KernelTraits kAnyWithoutHistory{On::any, false}, kCpuWithoutHistory{On::cpu, false},
    kCudaWithoutHistory{On::cuda, false};

namespace kernel_call {

template <class... P> struct Types {};
template <class F> struct Signature;
template <class R, class... P> struct Signature<R (*)(P...)> {
  using Result = R;
  using Data = void;
  using Parameters = Types<P...>;
  using Places = std::index_sequence_for<P...>;
};
template <class R, class D, class... P> struct Signature<R (*)(Registered<D>, P...)> {
  using Result = R;
  using Data = D;
  using Parameters = Types<P...>;
  using Places = std::index_sequence_for<P...>;
};

inline void give(Answer& a, Tensor&& t) {
  a.kind = Answer::tensor;
  a.t = t.detach();
}
inline void give(Answer& a, const Tensor& argument) {
  a.kind = Answer::argument;
  a.t = argument.get();
}
inline void give(Answer& a, bool b) {
  a.kind = Answer::boolean;
  a.i = b;
}
inline void give(Answer& a, int64_t i) {
  a.kind = Answer::integer;
  a.i = i;
}
void give(Answer&, std::vector<Tensor>&&, Answer::Kind = Answer::tuple);  // call.cpp
template <class... T> void give(Answer& a, std::tuple<T...>&& all) {
  a.kind = Answer::tuple;
  a.make_room(sizeof...(T));
  size_t at = 0;
  const auto part = [&]<class One>(One& one) {
    if constexpr (std::is_same_v<One, std::vector<Tensor>>)
      give(a.parts[at++], std::move(one), Answer::list);  // a Tensor[] among several results
    else
      give(a.parts[at++], std::move(one));
  };
  std::apply([&](T&... one) { (part(one), ...); }, all);
}
template <class T> void answer(Operator&, Answer& a, T&& value) { give(a, std::forward<T>(value)); }
template <class T> void answer(Operator& op, Answer& a, Outcome<T>&& outcome) {
  if (__builtin_expect(!outcome, 0)) return op.decline(outcome.why().reason);
  if constexpr (std::is_reference_v<T>)
    give(a, *outcome);
  else
    give(a, std::move(*outcome));
}

template <class P>
constexpr bool holds_tensors =
    std::is_same_v<P, const Tensor&> || std::is_same_v<P, const OptionalTensor&> || std::is_same_v<P, PlainTensor> ||
    std::is_same_v<P, const TensorOrScalar&> || std::is_same_v<P, TensorList> || std::is_same_v<P, OptionalTensorList>;

// Whether a gradient is wanted of the call: asked of the arguments from the first to the last that hold tensors.
template <class... P> bool wants_gradient(const Value* args) {
  constexpr bool holds[] = {holds_tensors<P>..., false};
  size_t first = 0, end = sizeof...(P);
  while (first < end && !holds[first]) ++first;
  while (end > first && !holds[end - 1]) --end;
  return GradMode::enabled() && any_requires_grad(args + first, end - first);
}

template <class... P> constexpr FitsArgument fits[] = {&Parameter<P>::fits..., nullptr};

// A std::tuple of parameters, which takes the compiler a fraction of that one's time.
template <size_t I, class T> struct Slot {
  T it;
};
template <class I, class... T> struct Slots;
template <size_t... I, class... T> struct Slots<std::index_sequence<I...>, T...> : Slot<I, T>... {};
template <size_t I, class T> T& in(Slot<I, T>& slot) { return slot.it; }

// The hottest code of small calls: one function for all kernels of a type, whatever the compiler thinks of inlining.
template <class F>
[[gnu::flatten, gnu::noinline]] void call(
    Operator& op, const Value* args, Answer& result, F kernel, KernelTraits traits) {
  [&]<class... P, size_t... I>(Types<P...>, std::index_sequence<I...> places) {
    if (!traits.history && wants_gradient<P...>(args)) return;  // its parts record it
    Slots<decltype(places), Parameter<P>...> given;
    Reading r{traits.on};
    if (!(in<I>(given).take(args[I], r) && ...)) return op.decline(r.why);
    using D = typename Signature<F>::Data;
    if constexpr (std::is_void_v<D>) {
      answer(op, result, kernel(in<I>(given).value()...));
    } else {
      const void* data = traits.on == On::cpu ? op.native_cpu_data : op.native_data;
      answer(op, result, kernel({static_cast<const D*>(data)}, in<I>(given).value()...));
    }
  }(typename Signature<F>::Parameters{}, typename Signature<F>::Places{});
}

}  // namespace kernel_call

template <auto F, KernelTraits traits = kAny> void register_kernel(const char* name, const void* data = nullptr) {
  const KernelCall call = [](Operator& op, const Value* args, Answer& result) {
    kernel_call::call(op, args, result, +F, traits);
  };
  [&]<class... P>(kernel_call::Types<P...>) {
    add_kernel(name, {{kernel_call::fits<P...>, sizeof...(P)}, call, data, traits.on});
  }(typename kernel_call::Signature<decltype(+F)>::Parameters{});
}

}  // namespace shim
