#pragma once
// TORCH_LIBRARY and its like, RegisterOperators: functions as kernels of operators.
#include <shim/function.h>

// Of the stable C ABI: what is wrong with a schema is reported when the library is loaded.
struct ShimLibrary;
extern "C" int32_t aoti_torch_library_init_fragment(const char*, const char*, uint32_t, ShimLibrary**);
extern "C" int32_t aoti_torch_library_def(ShimLibrary*, const char*);
extern "C" int32_t aoti_torch_delete_library_object(ShimLibrary*);

namespace shim {

template <class R> void put(ShimCell* results, R&& value) { results[0] = boxed(value); }
template <class... T> void put(ShimCell* results, std::tuple<T...>&& all) {
  size_t i = 0;
  std::apply([&](auto&&... v) { ((results[i++] = boxed(v)), ...); }, all);
}
template <class A> using Held = std::conditional_t<std::is_same_v<std::decay_t<A>, int>, int64_t, std::decay_t<A>>;

template <class F, class R, class... A> struct Kernel {
  F f;
  template <size_t... I> void run(const ShimCell* args, ShimCell* results, std::index_sequence<I...>) {
    std::tuple<Held<A>...> held{Unboxed<Held<A>>::from(args[I])...};
    if constexpr (std::is_void_v<R>)
      f(static_cast<A>(std::get<I>(held))...);
    else if constexpr (std::is_reference_v<R>)
      results[0] = boxed(static_cast<const std::decay_t<R>&>(f(static_cast<A>(std::get<I>(held))...)));
    else
      put(results, f(static_cast<A>(std::get<I>(held))...));
  }
  static int call(void* self, const ShimCell* args, size_t n, ShimCell* results, size_t) {
    return guarded([&] {
      TORCH_CHECK(n == sizeof...(A), "the kernel takes ", sizeof...(A), " arguments, its schema says ", n);
      static_cast<Kernel*>(self)->run(args, results, std::index_sequence_for<A...>());
    });
  }
  static std::string returns() {
    if constexpr (std::is_void_v<R>)
      return "()";
    else
      return Returned<std::decay_t<R>>::schema();
  }
  template <class T> struct Returned {
    static std::string schema() { return Unboxed<Held<T>>::schema() + " _0"; }
  };
  template <class... T> struct Returned<std::tuple<T...>> {
    static std::string schema() {
      std::string s;
      size_t i = 0;
      ((s += (i ? ", " : "(") + Unboxed<Held<T>>::schema() + " _" + std::to_string(i), ++i), ...);
      return s + ")";
    }
  };
  static std::string schema(const std::string& name) {
    std::string s;
    size_t i = 0;
    ((s += (i ? ", " : "") + Unboxed<Held<A>>::schema() + " _" + std::to_string(i), ++i), ...);
    return name + "(" + s + ") -> " + returns();
  }
};
struct AnyKernel {
  ShimKernel call;
  void* context;
  std::string (*schema)(const std::string&);
};
template <class F, class R, class... A> AnyKernel made_kernel(F f) {
  using K = Kernel<F, R, A...>;
  return {&K::call, new K{std::move(f)}, &K::schema};
}
template <class R, class... A> AnyKernel kernel_of(R (*f)(A...)) { return made_kernel<R (*)(A...), R, A...>(f); }
template <class F, class R, class C, class... A> AnyKernel kernel_of_member(F f, R (C::*)(A...) const) {
  return made_kernel<F, R, A...>(std::move(f));
}
template <class F, class = decltype(&F::operator())> AnyKernel kernel_of(F f) {
  return kernel_of_member(std::move(f), &F::operator());
}
[[noreturn]] inline void cannot_register(const char* what) {
  const char* text;
  shim_cxx_error(&text);
  throw c10::Error(SHIM_RUNTIME, c10::str(what, ": ", text));
}

}  // namespace shim

namespace c10 {
enum class DispatchKey {
  Undefined,
  CPU,
  CUDA,
  Meta,
  Autograd,
  AutogradCPU,
  AutogradCUDA,
  CompositeImplicitAutograd,
  CompositeExplicitAutograd,
  BackendSelect,
  CatchAll,
  Autocast,
  AutocastCPU,
  AutocastCUDA,
  ADInplaceOrView
};
inline const char* toString(DispatchKey k) {
  static const char* const names[] = {"Undefined", "CPU", "CUDA", "Meta", "Autograd", "AutogradCPU", "AutogradCUDA",
      "CompositeImplicitAutograd", "CompositeExplicitAutograd", "BackendSelect", "CompositeImplicitAutograd",
      "AutocastCUDA", "AutocastCPU", "AutocastCUDA", "ADInplaceOrView"};
  return names[int(k)];
}
}  // namespace c10

namespace torch {
using c10::DispatchKey;

struct CppFunction {
  template <class F> CppFunction(F f) : kernel(shim::kernel_of(std::move(f))) {}
  shim::AnyKernel kernel;
  std::string key;
};
template <class F> CppFunction dispatch(c10::DispatchKey key, F&& f) {
  CppFunction made(std::forward<F>(f));
  made.key = toString(key);
  return made;
}
template <class F> CppFunction dispatch(c10::DeviceType type, F&& f) {
  return dispatch(type == c10::DeviceType::CUDA ? c10::DispatchKey::CUDA : c10::DispatchKey::CPU, std::forward<F>(f));
}
inline std::string schema(const char* text) { return text; }

template <class T> class class_;

class Library {
 public:
  template <class T> torch::class_<T> class_(const std::string& name);
  Library(const char* ns, const char* key, const char* file, uint32_t line)
      : ns_(ns), key_(key == std::string("Autocast") ? "AutocastCUDA" : key), file_(file), line_(line) {}
  Library& def(const std::string& text) & {
    ShimLibrary* library = nullptr;
    aoti_torch_library_init_fragment(ns_.c_str(), file_, line_, &library);
    aoti_torch_library_def(library, text.c_str());
    aoti_torch_delete_library_object(library);
    return *this;
  }
  template <class F> Library& def(const std::string& name, F&& f) & {
    CppFunction made(std::forward<F>(f));
    if (name.find('(') != std::string::npos) {
      def(name);
      return add(name.substr(0, name.find('(')), made, "");
    }
    return add(name, made, made.kernel.schema(name.substr(name.rfind(':') + 1)));
  }
  template <class F> Library& impl(const std::string& name, F&& f) & {
    return add(name, CppFunction(std::forward<F>(f)), "");
  }
  Library& impl(const std::string& name, CppFunction f) & { return add(name, f, ""); }
  Library& def(const std::string& text, const std::vector<at::Tag>& tags) & {
    def(text);
    return tagged(text, tags);
  }
  template <class F> Library& def(const std::string& text, F&& f, const std::vector<at::Tag>& tags) & {
    def(text, std::forward<F>(f));
    return tagged(text, tags);
  }
  template <class... A> Library& set_python_module(A&&...) & { return *this; }

 private:
  Library& tagged(const std::string& text, const std::vector<at::Tag>& tags) {
    std::vector<int64_t> numbers;
    for (auto t : tags) numbers.push_back(int64_t(t));
    shim::python<void>("add_tags", std::string_view(ns_), std::string_view(text), c10::IntArrayRef(numbers));
    return *this;
  }
  Library& add(const std::string& name, const CppFunction& f, const std::string& schema) {
    const std::string key = !f.key.empty() ? f.key : !key_.empty() ? key_ : "CompositeImplicitAutograd";
    if (shim_cxx_implement(ns_.c_str(), key.c_str(), name.c_str(), f.kernel.call, f.kernel.context, schema.c_str()))
      shim::cannot_register(name.c_str());
    return *this;
  }
  std::string ns_, key_;
  const char* file_;
  uint32_t line_;
};

namespace detail {
struct TorchLibraryInit {
  TorchLibraryInit(void (*fill)(Library&), const char* ns, const char* key, const char* file, uint32_t line) {
    Library library(ns, key, file, line);
    fill(library);
  }
};
}  // namespace detail

// RegisterOperators().op("ns::name", &f) and op(schema, RegisterOperators::options()…)
class RegisterOperators {
 public:
  RegisterOperators() = default;
  template <class F> RegisterOperators(const std::string& name, F&& f) { op(name, std::forward<F>(f)); }
  template <class F> RegisterOperators& op(const std::string& name, F&& f) & {
    const size_t colon = name.find("::");
    TORCH_CHECK(colon != std::string::npos, "an operator without a namespace: ", name);
    Library library(name.substr(0, colon).c_str(), "", "", 0);
    library.def(name.substr(colon + 2), std::forward<F>(f));
    return *this;
  }
  template <class F> RegisterOperators&& op(const std::string& name, F&& f) && {
    op(name, std::forward<F>(f));
    return std::move(*this);
  }
};
namespace jit {
using torch::RegisterOperators;
}
}  // namespace torch
namespace c10 {
using torch::RegisterOperators;
}

#define SHIM_LIBRARY(ns, key, uid)                                                                      \
  static void C10_CONCATENATE(shim_library_##ns##_##key##_, uid)(torch::Library&);                      \
  static const torch::detail::TorchLibraryInit C10_CONCATENATE(shim_library_init_##ns##_##key##_, uid)( \
      &C10_CONCATENATE(shim_library_##ns##_##key##_, uid), #ns, #key, __FILE__, __LINE__);              \
  void C10_CONCATENATE(shim_library_##ns##_##key##_, uid)
#define SHIM_LIBRARY_(ns, key, uid, m) SHIM_LIBRARY(ns, key, uid)([[maybe_unused]] torch::Library & m)
#define TORCH_LIBRARY(ns, m) SHIM_LIBRARY_(ns, , __COUNTER__, m)
#define TORCH_LIBRARY_FRAGMENT(ns, m) SHIM_LIBRARY_(ns, , __COUNTER__, m)
#define TORCH_LIBRARY_IMPL(ns, key, m) SHIM_LIBRARY_(ns, key, __COUNTER__, m)
#define TORCH_FN(f) &f
#define TORCH_SELECTIVE_NAME(x) x
#define TORCH_SELECTIVE_SCHEMA(x) x
