#pragma once
// register_kernel<&sort, kCpu>("sort"): an operator's call of a typed kernel (ops/kernel.h), derived from the function's own type.
#include <utility>

#include "python/kernel_parameter.h"

namespace shim {

struct KernelTraits {
  On on = On::any;
  bool history = true;  // false: runs only where no gradient is wanted of the call (composites, whose parts record it)
};
constexpr KernelTraits kAny{}, kCpu{On::cpu}, kCuda{On::cuda};
constexpr KernelTraits kAnyWithoutHistory{On::any, false}, kCpuWithoutHistory{On::cpu, false},
    kCudaWithoutHistory{On::cuda, false};

// Counts why a kernel left a call to the operator's body (operator_declines() of the module). Gives null.
inline PyObject* declined(Operator& op, const char* reason) {
  if (reason && *reason) op.count_decline(reason);
  return nullptr;
}

namespace kernel_call {

template <class... P> struct Types {};
template <class F> struct Signature;
template <class R, class... P> struct Signature<R (*)(P...)> {
  using Result = R;
  using Data = void;
  using Parameters = Types<P...>;
};
template <class R, class D, class... P> struct Signature<R (*)(Registered<D>, P...)> {
  using Result = R;
  using Data = D;
  using Parameters = Types<P...>;
};

inline const void* registered_data(const Operator& op, On on) {
  return on == On::cpu ? op.native_cpu_data : op.native_data;
}

inline PyObject* object(const Tensor& t) { return wrap(t); }
inline PyObject* object(Tensor&& t) { return wrap(std::move(t)); }
inline PyObject* object(bool b) { return PyBool_FromLong(b); }
inline PyObject* object(PyObject* o) { return o; }
template <class T> PyObject* object(T* pointer) { return PyLong_FromVoidPtr(reinterpret_cast<void*>(pointer)); }
inline PyObject* object(int i) { return PyLong_FromLong(i); }
inline PyObject* object(int64_t i) { return PyLong_FromLongLong(i); }
inline PyObject* object(double d) { return PyFloat_FromDouble(d); }
inline PyObject* object(DType t) { return dtype_object(t); }
inline PyObject* object(const std::string& s) { return PyUnicode_FromStringAndSize(s.data(), Py_ssize_t(s.size())); }
PyObject* tuple(std::span<Tensor> tensors);  // a tuple that takes them over; null tensors are None
inline PyObject* object(std::vector<Tensor>&& tensors) { return tuple(tensors); }
PyObject* joined(std::span<PyObject* const> items);  // a tuple of them, which are given away; null where one is null
PyObject* list(std::span<const Tensor> tensors);
template <class T> PyObject* part(T&& t) {
  if constexpr (std::is_same_v<T, std::vector<Tensor>>)
    return list(t);  // a Tensor[] among several results
  else
    return object(std::move(t));
}
template <class... T> PyObject* object(std::tuple<T...>&& all) {
  return std::apply(
      [](T&... t) {
        if constexpr ((std::is_same_v<T, Tensor> && ...)) {
          std::array<Tensor, sizeof...(T)> tensors{std::move(t)...};
          return tuple(tensors);
        } else {
          return joined(std::array<PyObject*, sizeof...(T)>{part(std::move(t))...});
        }
      },
      all);
}
template <class T> PyObject* answer(Operator&, T&& value) { return object(std::forward<T>(value)); }
template <class T> PyObject* answer(Operator& op, Outcome<T>&& outcome) {
  if (__builtin_expect(!outcome, 0)) return declined(op, outcome.why().reason);
  if constexpr (std::is_reference_v<T>)
    return object(*outcome);
  else
    return object(std::move(*outcome));
}

template <class P>
constexpr bool holds_tensors =
    std::is_same_v<P, const Tensor&> || std::is_same_v<P, const OptionalTensor&> || std::is_same_v<P, PlainTensor> ||
    std::is_same_v<P, const TensorOrScalar&> || std::is_same_v<P, TensorList> || std::is_same_v<P, OptionalTensorList>;

// Whether a gradient is wanted of the call: asked of the arguments from the first to the last that hold tensors.
template <class... P> bool wants_gradient(PyObject* const* args) {
  constexpr bool holds[] = {holds_tensors<P>...};
  size_t first = 0, end = sizeof...(P);
  while (first < end && !holds[first]) ++first;
  while (end > first && !holds[end - 1]) --end;
  return GradMode::enabled() && any_requires_grad(args + first, end - first);
}

template <On on, class... P> bool fits(const Schema& s, Types<P...>) {
  size_t i = 0;
  return s.args.size() == sizeof...(P) && (Parameter<P, on>::fits(s.args[i++]) && ...);
}

template <auto F, KernelTraits traits, class... P, size_t... I>
PyObject* call(Operator& op, PyObject* const* args, Types<P...>, std::index_sequence<I...>) {
  using S = Signature<decltype(+F)>;
  if constexpr (!traits.history)
    if (wants_gradient<P...>(args)) return nullptr;  // its parts record it
  return guarded([&]() -> PyObject* {
    std::tuple<Parameter<P, traits.on>...> given;
    const char* why = nullptr;
    if (!(std::get<I>(given).take(args[I], &why) && ...)) return declined(op, why);
    if constexpr (std::is_void_v<typename S::Data>)
      return answer(op, F(std::get<I>(given).value()...));
    else
      return answer(
          op, F({static_cast<const typename S::Data*>(registered_data(op, traits.on))}, std::get<I>(given).value()...));
  });
}

// The hottest code of small calls: one function, whatever the compiler thinks of inlining.
template <auto F, KernelTraits traits>
[[gnu::flatten]] PyObject* call_native(Operator& op, PyObject* const* args, size_t) {
  return [&]<class... T>(Types<T...> types) {
    return call<F, traits>(op, args, types, std::index_sequence_for<T...>{});
  }(typename Signature<decltype(+F)>::Parameters{});
}

}  // namespace kernel_call

template <auto F, KernelTraits traits = kAny> void register_kernel(const char* name, const void* data = nullptr) {
  using P = typename kernel_call::Signature<decltype(+F)>::Parameters;
  const NativeFn call = kernel_call::call_native<F, traits>;
  add_kernel(name, {[](const Schema& s) { return kernel_call::fits<traits.on>(s, P{}); },
                       reinterpret_cast<KernelCall>(call), data, traits.on});
}

}  // namespace shim
