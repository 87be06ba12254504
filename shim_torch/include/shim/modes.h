#pragma once
// The thread's modes, parallel loops, guards that have nothing to do on the CPU.
#include <shim/gradients.h>

namespace c10 {
inline void Generator::set_current_seed(uint64_t seed) const { shim::python<void>("set_seed", *this, int64_t(seed)); }
struct GradMode {
  static bool is_enabled() { return shim_cxx_grad_mode(-1) != 0; }
  static void set_enabled(bool on) { shim_cxx_grad_mode(on); }
};
struct AutoGradMode {
  explicit AutoGradMode(bool on) : was(shim_cxx_grad_mode(on)) {}
  AutoGradMode(const AutoGradMode&) = delete;
  ~AutoGradMode() { shim_cxx_grad_mode(was); }
  int was;
};
struct NoGradGuard : AutoGradMode {
  NoGradGuard() : AutoGradMode(false) {}
};
struct InferenceMode {
  explicit InferenceMode(bool on = true) : was(shim_cxx_inference_mode(on)) {}
  InferenceMode(const InferenceMode&) = delete;
  ~InferenceMode() { shim_cxx_inference_mode(was); }
  static bool is_enabled() { return shim_cxx_inference_mode(-1) != 0; }
  int was;
};
}  // namespace c10

namespace at {
inline std::optional<Device> device_of(const at::Tensor& t) {
  return t.defined() ? std::optional<Device>(t.device()) : std::nullopt;
}
struct AutoDispatchBelowAutograd {  // nothing is recorded, and kernels of Autograd keys are passed over
  AutoDispatchBelowAutograd() : was(shim_cxx_below_autograd(1)) {}
  AutoDispatchBelowAutograd(const AutoDispatchBelowAutograd&) = delete;
  ~AutoDispatchBelowAutograd() { shim_cxx_below_autograd(was); }
  int was;
  NoGradGuard unrecorded;
};
using AutoDispatchBelowADInplaceOrView = AutoDispatchBelowAutograd;
using AutoNonVariableTypeMode = AutoGradMode;

extern "C" int32_t torch_get_num_threads(uint32_t*);
inline int get_num_threads() {
  uint32_t n = 1;
  torch_get_num_threads(&n);
  return int(n);
}
extern "C" int32_t torch_get_thread_idx(uint32_t*);
inline int get_thread_num() {
  uint32_t n = 0;
  torch_get_thread_idx(&n);
  return int(n);
}
inline void set_num_threads(int n) { shim::python<void>("set_num_threads", int64_t(n)); }
inline void manual_seed(uint64_t seed) { shim::python<void>("manual_seed", int64_t(seed)); }
namespace detail {
inline Generator createCPUGenerator(uint64_t seed = 67280421310721) {
  auto made = shim::python<shim::Object>("cpu_generator", int64_t(seed));
  return Generator(std::exchange(*made.held, ShimCell{}));
}
inline Generator getDefaultCPUGenerator() {
  ShimCell c{};
  shim::check(shim_cxx_default_generator(0, -1, &c));
  return Generator(c);
}
}  // namespace detail
// The first exception is thrown again on the calling thread, whose GIL is released meanwhile.
template <class F> void parallel_for(int64_t begin, int64_t end, int64_t grain, const F& f) {
  TORCH_CHECK(grain >= 0, "Expected grain_size >= 0 to be true, but got false.");
  struct Work {
    const F& f;
    int grad_mode;
    std::mutex mutex;
    std::exception_ptr first;
  } work{f, shim_cxx_grad_mode(-1), {}, {}};
  auto piece = [](int64_t from, int64_t to, void* context) {
    auto& w = *static_cast<Work*>(context);
    AutoGradMode as_caller(w.grad_mode);
    try {
      w.f(from, to);
    } catch (...) {
      std::lock_guard<std::mutex> lock(w.mutex);
      if (!w.first) w.first = std::current_exception();
    }
  };
  if (begin >= end) return;
  shim::check(shim_cxx_parallel_for(begin, end, grain, piece, &work));
  if (work.first) std::rethrow_exception(work.first);
}
// What f gives of each piece, put together in the pieces' order.
template <class T, class F, class C>
T parallel_reduce(int64_t begin, int64_t end, int64_t grain, const T& identity, const F& f, const C& combine) {
  TORCH_CHECK(grain >= 0, "Expected grain_size >= 0 to be true, but got false.");
  std::mutex mutex;
  std::map<int64_t, T> parts;
  parallel_for(begin, end, grain, [&](int64_t from, int64_t to) {
    T part = f(from, to, identity);
    std::lock_guard<std::mutex> lock(mutex);
    parts.emplace(from, std::move(part));
  });
  T all = identity;
  for (auto& p : parts) all = combine(all, p.second);
  return all;
}
inline bool in_parallel_region() { return get_thread_num() != 0; }
namespace internal {
constexpr int64_t GRAIN_SIZE = 32768;
}
inline int64_t divup(int64_t a, int64_t b) { return (a + b - 1) / b; }
template <class A, class B> auto ceil_div(A a, B b) { return (a + b - 1) / b; }

template <class T> struct OpMathType {
  using type = T;
};
template <> struct OpMathType<Half> {
  using type = float;
};
template <> struct OpMathType<BFloat16> {
  using type = float;
};
template <class T> using opmath_type = typename OpMathType<T>::type;
template <class T, bool cuda> struct AccumulateType {
  using type = std::conditional_t<std::is_same_v<T, bool>, bool,
      std::conditional_t<std::is_integral_v<T>, int64_t,
          std::conditional_t<std::is_same_v<T, float> && !cuda, double, opmath_type<T>>>>;
};
template <class T, bool cuda> using acc_type = typename AccumulateType<T, cuda>::type;

inline int64_t setting(std::string_view name) { return shim::python<int64_t>("setting", name); }
class Context {  // what the process is set to
 public:
  bool deterministicAlgorithms() const { return setting("deterministic_algorithms") > 0; }
  bool deterministicCuDNN() const { return setting("cudnn_deterministic") > 0; }
  bool benchmarkCuDNN() const { return setting("cudnn_benchmark") > 0; }
  bool allowTF32CuBLAS() const { return setting("allow_tf32") > 0; }
  static void alertNotDeterministic(std::string_view name) { shim::python<void>("alert_not_deterministic", name); }
  static bool hasCUDA() { return setting("cuda_device_count") > 0; }
};
inline Context& globalContext() {
  static Context c;
  return c;
}
inline bool hasCUDA() { return Context::hasCUDA(); }

inline ScalarType scalar_type(ScalarType t) { return t; }
inline ScalarType scalar_type(caffe2::TypeMeta t) { return t.toScalarType(); }
inline ScalarType scalar_type(const DeprecatedTypeProperties& t) { return t.scalarType(); }
}  // namespace at
namespace detail {
using at::scalar_type;
}
namespace torch {
namespace cuda {
inline size_t device_count() { return size_t(at::setting("cuda_device_count")); }
inline bool is_available() { return device_count() > 0; }
}  // namespace cuda
}  // namespace torch
