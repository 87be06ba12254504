#pragma once
// Kernels as their .cuh declares them, and launches whose arguments the compiler checks against that. The declarations are made at build
// (tools/embed_kernels.py), a header a file: #include "cuda/entries/gather.h" has entries::gather::take.
#include <type_traits>
#include <utility>

#include "cuda/launch.h"

namespace shim::cuda {

// Parameters whose C++ type the declaration does not tell.
struct ByMacro {};                        // a number of a type that the program's macros choose
template <size_t size> struct Struct {};  // an object of this size; 0: the macros choose it
struct Bytes {                            // the argument for both, by the address of a value of the right type
  const void* at;
};

// An argument on its way: of exactly the parameter's type, by a conversion that keeps every value.
template <class P> struct Held {
  P value;
  template <class A> explicit Held(A a) : value{a} {
    static_assert(requires { P{std::declval<A>()}; }, "the argument is not one for the kernel's parameter");
  }
  void* address() { return &value; }
};
template <> struct Held<ByMacro> {
  const void* at;
  explicit Held(Bytes b) : at(b.at) {}
  void* address() { return const_cast<void*>(at); }
};
template <size_t size> struct Held<Struct<size>> {
  const void* at;
  template <class A> explicit Held(const A& a) : at(&a) {
    static_assert(std::is_class_v<A> && std::is_trivially_copyable_v<A>, "the kernel takes an object of C");
    static_assert(size == 0 || sizeof(A) == size, "the kernel's parameter has another size");
  }
  explicit Held(Bytes b)
    requires(size == 0)
      : at(b.at) {}
  void* address() { return const_cast<void*>(at); }
};

struct Grid {
  int64_t x, y = 1;  // blocks
  int threads = 256, threads_y = 1;
  unsigned shared_bytes = 0;
};

template <class... P> struct Entry {
  using Parameters = Entry;
  // f(the arguments' addresses, as the driver takes them)
  template <class F, class... A> static auto with(F&& f, const A&... a) {
    static_assert(sizeof...(A) == sizeof...(P), "the kernel takes another number of arguments");
    if constexpr (sizeof...(A) == sizeof...(P))
      return [&](auto&&... held) {
        void* arguments[] = {held.address()...};
        return f(arguments);
      }(Held<P>(a)...);
  }
};
// Kernels of one signature, of which a launcher takes one or another.
template <class E, class... Others>
constexpr bool same_parameters = (std::is_same_v<typename E::Parameters, typename Others::Parameters> && ...);

template <class E> struct Kernel {
  CUfunction function = nullptr;
  explicit operator bool() const { return function; }
  // The same function as one of another kernel's signature: what is chosen among them is launched as one.
  template <class Other> Kernel<Other> as() const {
    static_assert(same_parameters<E, Other>, "the kernels take other arguments");
    return {function};
  }
};

// The kernel E of a family's program: entries may be of a file that the family's includes.
template <class E, class F> Kernel<E> find_kernel(const Family& family, uint64_t key, int device, F&& macros) {
  return {find_kernel(family, E::name, key, device, std::forward<F>(macros))};
}

template <class E, class... A> void launch(Kernel<E> kernel, const Grid& grid, int device, const A&... arguments) {
  E::with(
      [&](void** all) {
        launch(kernel.function, grid.x, grid.y, grid.threads, grid.threads_y, all, device, grid.shared_bytes);
      },
      arguments...);
}

}  // namespace shim::cuda
