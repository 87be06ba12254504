#pragma once
// torch::class_: C++ classes whose instances Python holds (torch.classes.ns.Name).
#include <shim/library.h>

namespace shim {

// A method as a kernel: results are one value, a tuple or none.
template <class F, class R, class... A> struct Method {
  F f;
  template <size_t... I> ShimCell run(const ShimCell* args, std::index_sequence<I...>) {
    std::tuple<Held<A>...> held{Unboxed<Held<A>>::from(args[I])...};
    if constexpr (std::is_void_v<R>) {
      f(static_cast<A>(std::get<I>(held))...);
      return none_cell();
    } else {
      return boxed(static_cast<const std::decay_t<R>&>(f(static_cast<A>(std::get<I>(held))...)));
    }
  }
  static int call(void* self, const ShimCell* args, size_t n, ShimCell* results, size_t) {
    return guarded([&] {
      TORCH_CHECK(n == sizeof...(A), "the method takes ", sizeof...(A), " arguments, got ", n);
      results[0] = static_cast<Method*>(self)->run(args, std::index_sequence_for<A...>());
    });
  }
  static std::string schema(const std::string& name) {
    std::string s;
    size_t i = 0;
    ((s += (i ? ", " : "") + Unboxed<Held<A>>::schema() + " _" + std::to_string(i), ++i), ...);
    return name + "(" + s + ") -> " + returned();
  }
  static std::string returned() {
    if constexpr (std::is_void_v<R>)
      return "NoneType _0";
    else
      return Kernel<F, R, A...>::returns();
  }
};
struct AnyMethod {
  ShimCell callable{};
  std::string schema;
};
template <class F, class R, class... A> AnyMethod made_method(const std::string& name, F f) {
  using M = Method<F, R, A...>;
  AnyMethod made;
  made.schema = M::schema(name);
  check(shim_cxx_callable(&M::call, new M{std::move(f)}, [](void* p) { delete static_cast<M*>(p); }, &made.callable));
  return made;
}
template <class T, class R, class... A, class F> AnyMethod bound_method(const std::string& name, F f) {
  auto call = [f](const std::shared_ptr<T>& self, A... args) -> R { return ((*self).*f)(std::forward<A>(args)...); };
  return made_method<decltype(call), R, const std::shared_ptr<T>&, A...>(name, call);
}
template <class F, class R, class C, class... A>
AnyMethod lambda_method(const std::string& name, F f, R (C::*)(A...) const) {
  return made_method<F, R, A...>(name, std::move(f));
}

}  // namespace shim

namespace torch {

using c10::intrusive_ptr;
template <class... A> struct types {};
template <class... A> types<A...> init() { return {}; }
template <class F> struct InitLambda {
  F f;
};
template <class F> InitLambda<std::decay_t<F>> init(F&& f) { return {std::forward<F>(f)}; }

struct arg {  // a name and a default of a method's argument
  explicit arg(std::string n) : name(std::move(n)) {}
  template <class T> arg& operator=(const T& v) {
    value = c10::IValue(v);
    return *this;
  }
  static arg none() { return arg("_").operator=(c10::IValue()); }
  std::string name;
  std::optional<c10::IValue> value;
};

template <class T> class class_ {
  static_assert(std::is_base_of_v<CustomClassHolder, T>, "a custom class derives from torch::CustomClassHolder");

 public:
  explicit class_(const std::string& ns, const std::string& name, std::string doc = "") : name_(name) {
    shim::python<void>("define_class", std::string_view(ns), std::string_view(name), std::string_view(doc), kind());
  }
  template <class... A> class_& def(types<A...>, std::string doc = "", std::initializer_list<arg> args = {}) {
    return init_with([](A... a) { return c10::make_intrusive<T>(std::forward<A>(a)...); }, doc, args);
  }
  template <class F> class_& def(InitLambda<F> init, std::string doc = "", std::initializer_list<arg> args = {}) {
    return init_with(std::move(init.f), doc, args);
  }
  template <class F> class_& def(std::string name, F f, std::string doc = "", std::initializer_list<arg> args = {}) {
    return add("method", name, method(name, std::move(f)), doc, args);
  }
  template <class F> class_& def_static(std::string name, F f, std::string doc = "") {
    return add("static", name, method(name, std::move(f)), doc, {});
  }
  template <class G> class_& def_property(const std::string& name, G get, std::string doc = "") {
    return add("get", name, method(name, get), doc, {});
  }
  template <class G, class S> class_& def_property(const std::string& name, G get, S set, std::string doc = "") {
    add("get", name, method(name, get), doc, {});
    return add("set", name, method(name, set), doc, {});
  }
  template <class V> class_& def_readonly(const std::string& name, V T::* field) {
    return def_property(name, [field](const std::shared_ptr<T>& self) -> V { return (*self).*field; });
  }
  template <class V> class_& def_readwrite(const std::string& name, V T::* field) {
    return def_property(
        name, [field](const std::shared_ptr<T>& self) -> V { return (*self).*field; },
        [field](const std::shared_ptr<T>& self, V value) { (*self).*field = std::move(value); });
  }
  template <class G, class S> class_& def_pickle(G get, S set) {
    add("method", "__getstate__", method("__getstate__", std::move(get)), "", {});
    return add("setstate", "__setstate__", method("__setstate__", std::move(set)), "", {});
  }

 private:
  static std::string_view kind() { return typeid(T).name(); }
  template <class F> class_& init_with(F f, const std::string& doc, std::initializer_list<arg> args) {
    return add("init", "__init__", method("__init__", std::move(f)), doc, args);
  }
  template <class F> static shim::AnyMethod method(const std::string& name, F f) {
    if constexpr (std::is_member_function_pointer_v<F>)
      return of_member(name, f);
    else if constexpr (std::is_pointer_v<F>)
      return of_function(name, f);
    else
      return shim::lambda_method(name, std::move(f), &F::operator());
  }
  template <class C, class R, class... A> static shim::AnyMethod of_member(const std::string& name, R (C::*f)(A...)) {
    return shim::bound_method<T, R, A...>(name, f);
  }
  template <class C, class R, class... A>
  static shim::AnyMethod of_member(const std::string& name, R (C::*f)(A...) const) {
    return shim::bound_method<T, R, A...>(name, f);
  }
  template <class R, class... A> static shim::AnyMethod of_function(const std::string& name, R (*f)(A...)) {
    return shim::made_method<R (*)(A...), R, A...>(name, f);
  }
  class_& add(const char* what, const std::string& name, shim::AnyMethod m, const std::string& doc,
      std::initializer_list<arg> args) {
    const shim::Object callable = shim::object_taken(m.callable);
    std::vector<c10::IValue> names, defaults;
    for (auto& a : args) {
      names.emplace_back(a.name);
      if (a.value) defaults.push_back(*a.value);
    }
    shim::python<void>("define_member", std::string_view(what), kind(), std::string_view(name), callable,
        std::string_view(m.schema), std::string_view(doc), c10::IValue(names), c10::IValue(defaults));
    return *this;
  }
  std::string name_;
};

template <class T> class_<T> Library::class_(const std::string& name) { return torch::class_<T>(ns_, name); }
template <class T, class... A> c10::IValue make_custom_class(A&&... args) {
  return c10::IValue(c10::make_intrusive<T>(std::forward<A>(args)...));
}

}  // namespace torch
