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
inline PyObject* object(bool b) { return PyBool_FromLong(b); }
inline PyObject* object(PyObject* o) { return o; }
template <class T> PyObject* object(T* pointer) { return PyLong_FromVoidPtr(reinterpret_cast<void*>(pointer)); }
inline PyObject* object(int i) { return PyLong_FromLong(i); }
inline PyObject* object(int64_t i) { return PyLong_FromLongLong(i); }
inline PyObject* object(double d) { return PyFloat_FromDouble(d); }
inline PyObject* object(DType t) { return dtype_object(t); }
inline PyObject* object(const std::string& s) { return PyUnicode_FromStringAndSize(s.data(), Py_ssize_t(s.size())); }
PyObject* tuple(std::span<const Tensor> tensors);  // a tuple of them; null tensors are None
inline PyObject* object(const std::vector<Tensor>& tensors) { return tuple(tensors); }
PyObject* joined(std::span<PyObject* const> items);  // a tuple of them, which are given away; null where one is null
PyObject* list(std::span<const Tensor> tensors);
template <class T> PyObject* part(const T& t) {
  if constexpr (std::is_same_v<T, std::vector<Tensor>>)
    return list(t);  // a Tensor[] among several results
  else
    return object(t);
}
template <class... T> PyObject* object(const std::tuple<T...>& all) {
  return std::apply(
      [](const T&... t) {
        if constexpr ((std::is_same_v<T, Tensor> && ...))
          return tuple(std::array<Tensor, sizeof...(T)>{t...});
        else
          return joined(std::array<PyObject*, sizeof...(T)>{part(t)...});
      },
      all);
}
template <class T> PyObject* answer(Operator&, T&& value) { return object(value); }
template <class T> PyObject* answer(Operator& op, Outcome<T>&& outcome) {
  return outcome ? object(*outcome) : declined(op, outcome.why().reason);
}

template <On on, class... P> bool fits(const Schema& s, Types<P...>) {
  size_t i = 0;
  return s.args.size() == sizeof...(P) && (Parameter<P, on>::fits(s.args[i++]) && ...);
}

template <auto F, KernelTraits traits, class... P, size_t... I>
PyObject* call(Operator& op, PyObject* const* args, Types<P...>, std::index_sequence<I...>) {
  using S = Signature<decltype(+F)>;
  if constexpr (!traits.history)
    if (GradMode::enabled() && any_requires_grad(args, sizeof...(P))) return nullptr;  // its parts record it
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

}  // namespace kernel_call

template <auto F, KernelTraits traits = kAny> void register_kernel(const char* name, const void* data = nullptr) {
  using P = typename kernel_call::Signature<decltype(+F)>::Parameters;
  const NativeFn call = [](Operator& op, PyObject* const* args, size_t) -> PyObject* {
    return [&]<class... T>(kernel_call::Types<T...> types) {
      return kernel_call::call<F, traits>(op, args, types, std::index_sequence_for<T...>{});
    }(P{});
  };
  add_kernel(name, {[](const Schema& s) { return kernel_call::fits<traits.on>(s, P{}); },
                       reinterpret_cast<KernelCall>(call), data, traits.on});
}

}  // namespace shim
