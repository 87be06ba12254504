// Products on the CPU by kernels of our own and by the BLAS that NumPy brought into the process, linked to by nobody.
#include <dlfcn.h>

#include <algorithm>
#include <mutex>
#include <string>

#include "core/tensor.h"
#include "cpu/loaded_blas.h"
#include "cpu/parallel.h"
#include "cpu/dot_products.h"
#include "cpu/blas.h"
#include "cpu/matrix_vector.h"
#include "cpu/products.h"
#include "ops/gemm_problem.h"
#include "ops/gemm_settings.h"

namespace shim::gemm {
namespace {

constexpr int kColMajor = 102, kNoTrans = 111, kTrans = 112;

template <class Int, class T>
using Gemm = void (*)(int, int, int, Int, Int, Int, T, const T*, Int, const T*, Int, T, T*, Int);

struct Blas {
  std::string name = "none";
  Gemm<int64_t, float> sgemm64 = nullptr;
  Gemm<int64_t, double> dgemm64 = nullptr;
  Gemm<int, float> sgemm32 = nullptr;
  Gemm<int, double> dgemm32 = nullptr;
  int (*get_threads)() = nullptr;
  void (*set_threads)(int) = nullptr;
  bool loaded() const { return sgemm64 || sgemm32; }
};

template <class F> void load(void* library, F& f, const std::string& symbol) {
  f = reinterpret_cast<F>(dlsym(library, symbol.c_str()));
}

bool load_from(Blas& blas, void* library, const std::string& path) {
  struct {
    const char *prefix, *suffix;
    bool wide;
  } forms[] = {
      {"scipy_cblas_", "64_", true}, {"cblas_", "64_", true}, {"scipy_cblas_", "", false}, {"cblas_", "", false}};
  for (auto& form : forms) {
    auto symbol = [&](const char* f) { return std::string(form.prefix) + f + form.suffix; };
    if (form.wide) {
      load(library, blas.sgemm64, symbol("sgemm"));
      load(library, blas.dgemm64, symbol("dgemm"));
      if (!blas.sgemm64 || !blas.dgemm64) {
        blas.sgemm64 = nullptr;
        continue;
      }
    } else {
      load(library, blas.sgemm32, symbol("sgemm"));
      load(library, blas.dgemm32, symbol("dgemm"));
      if (!blas.sgemm32 || !blas.dgemm32) {
        blas.sgemm32 = nullptr;
        continue;
      }
    }
    for (const char* prefix : {"scipy_openblas_", "openblas_"})
      for (const char* suffix : {"64_", ""}) {
        if (blas.get_threads && blas.set_threads) break;
        load(library, blas.get_threads, std::string(prefix) + "get_num_threads" + suffix);
        load(library, blas.set_threads, std::string(prefix) + "set_num_threads" + suffix);
      }
    blas.name = path.substr(path.rfind('/') + 1);
    return true;
  }
  return false;
}

const Blas& blas() {
  static const Blas found = [] {
    Blas b;
    if (const LoadedBlas& loaded = loaded_blas(); loaded.handle) load_from(b, loaded.handle, loaded.path);
    return b;
  }();
  return found;
}

struct Factors {
  double alpha, beta;
};

template <class T> void one(const GemmProblem& p, const T* a, const T* b, T* d, Factors s) {
  if (own_product(p.trans_a, p.trans_b, p.m, p.n, p.k, T(s.alpha), a, p.lda, b, p.ldb, T(s.beta), d, p.ldd)) return;
  const Blas& lib = blas();
  const int ta = p.trans_a ? kTrans : kNoTrans, tb = p.trans_b ? kTrans : kNoTrans;
  if constexpr (std::is_same_v<T, float>) {
    if (lib.sgemm64)
      lib.sgemm64(kColMajor, ta, tb, p.m, p.n, p.k, T(s.alpha), a, p.lda, b, p.ldb, T(s.beta), d, p.ldd);
    else
      lib.sgemm32(kColMajor, ta, tb, int(p.m), int(p.n), int(p.k), T(s.alpha), a, int(p.lda), b, int(p.ldb), T(s.beta),
          d, int(p.ldd));
  } else {
    if (lib.dgemm64)
      lib.dgemm64(kColMajor, ta, tb, p.m, p.n, p.k, T(s.alpha), a, p.lda, b, p.ldb, T(s.beta), d, p.ldd);
    else
      lib.dgemm32(kColMajor, ta, tb, int(p.m), int(p.n), int(p.k), T(s.alpha), a, int(p.lda), b, int(p.ldb), T(s.beta),
          d, int(p.ldd));
  }
}

// While one lives, the BLAS works on the calling thread alone.
class SingleThreaded {
 public:
  SingleThreaded() {
    std::lock_guard<std::mutex> guard(lock_);
    if (users_++ == 0) {
      before_ = blas().get_threads();
      blas().set_threads(1);
    }
  }
  ~SingleThreaded() {
    std::lock_guard<std::mutex> guard(lock_);
    if (--users_ == 0) blas().set_threads(before_);
  }
  SingleThreaded(const SingleThreaded&) = delete;

 private:
  static inline std::mutex lock_;
  static inline int users_ = 0, before_ = 1;
};

// The product in parts for our own threads: those of a BLAS wait for each other by spinning, which a busy machine punishes.
template <class T> void shared(const GemmProblem& p, const T* a, const T* b, T* d, Factors s) {
  constexpr int64_t kWorth = int64_t(1) << 21;
  const int threads = num_threads();
  if (threads < 2 || !blas().get_threads || !blas().set_threads || p.m * p.n * p.k < kWorth || std::max(p.m, p.n) < 128)
    return one(p, a, b, d, s);
  const bool by_rows = p.m >= p.n;
  const int64_t length = by_rows ? p.m : p.n, parts = std::min<int64_t>(2 * threads, length / 64),
                step = (length / parts + 63) / 64 * 64;
  SingleThreaded alone;
  parallel_for((length + step - 1) / step, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t first = i * step, size = std::min(step, length - first);
      GemmProblem part = p;
      (by_rows ? part.m : part.n) = size;
      if (by_rows)
        one(part, a + (p.trans_a ? first * p.lda : first), b, d + first, s);
      else
        one(part, a, b + (p.trans_b ? first : first * p.ldb), d + first * p.ldd, s);
    }
  });
}

// A single column or row of the result, or of the operands: a matrix-vector product reads the matrix once and packs nothing.
template <class T> bool vector_product(const GemmProblem& p, const T* a, const T* b, T* d, Factors s) {
  if (p.k == 1) {
    outer_product(p.m, p.n, T(s.alpha), a, p.trans_a ? p.lda : 1, b, p.trans_b ? 1 : p.ldb, T(s.beta), d, p.ldd);
    return true;
  }
  if (p.n == 1) {  // d[m] = op(A) b
    matrix_vector(p.trans_a, p.trans_a ? p.k : p.m, p.trans_a ? p.m : p.k, T(s.alpha), a, p.lda, b,
        p.trans_b ? p.ldb : 1, T(s.beta), d, 1);
    return true;
  }
  if (p.m == 1) {  // d^T[n] = op(B)^T a
    matrix_vector(!p.trans_b, p.trans_b ? p.n : p.k, p.trans_b ? p.k : p.n, T(s.alpha), b, p.ldb, a,
        p.trans_a ? 1 : p.lda, T(s.beta), d, p.ldd);
    return true;
  }
  if constexpr (std::is_same_v<T, float>) return few_rows(p, a, b, d, s.alpha, s.beta);
  return false;
}

template <class T> void run(const GemmProblem& p, const GemmBuffers& buffers, Factors s) {
  auto call = [&](int64_t i) {
    const T* a = static_cast<const T*>(buffers.a) + i * p.stride_a;
    const T* b = static_cast<const T*>(buffers.b) + i * p.stride_b;
    T* d = static_cast<T*>(buffers.d) + i * p.stride_d;
    if (!vector_product(p, a, b, d, s)) shared(p, a, b, d, s);
  };
  const double work = double(p.m) * double(p.n) * double(p.k);
  if (p.batch == 1) return call(0);
  if (work > 32 * 32 * 32 && p.batch >= num_threads() && p.k > 1 && p.m > 1 && p.n > 1 && num_threads() > 1 &&
      blas().get_threads && blas().set_threads) {
    SingleThreaded alone;
    parallel_for(p.batch, std::max<int64_t>(1, int64_t(double(kGrain) / work)), [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i)
        one(p, static_cast<const T*>(buffers.a) + i * p.stride_a, static_cast<const T*>(buffers.b) + i * p.stride_b,
            static_cast<T*>(buffers.d) + i * p.stride_d, s);
    });
    return;
  }
  if (work > 32 * 32 * 32 || p.k == 1 || p.m == 1 || p.n == 1) {  // each one is shared among threads
    for (int64_t i = 0; i < p.batch; ++i) call(i);
    return;
  }
  const int64_t grain = std::max<int64_t>(1, int64_t(double(kGrain) / std::max(work, 1.0)));
  parallel_for(p.batch, grain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) call(i);
  });
}

}  // namespace

OneThread::OneThread() {
  if (blas().get_threads && blas().set_threads) only_ = new SingleThreaded;
}
OneThread::~OneThread() { delete static_cast<SingleThreaded*>(only_); }

template <class T>
void multiply(bool trans_a, bool trans_b, int64_t m, int64_t n, int64_t k, const T* a, int64_t lda, const T* b,
    int64_t ldb, T beta, T* d, int64_t ldd) {
  GemmProblem p;
  p.trans_a = trans_a, p.trans_b = trans_b;
  p.m = m, p.n = n, p.k = k;
  p.lda = lda, p.ldb = ldb, p.ldd = ldd;
  one(p, a, b, d, {1, double(beta)});
}
template void multiply(
    bool, bool, int64_t, int64_t, int64_t, const float*, int64_t, const float*, int64_t, float, float*, int64_t);
template void multiply(
    bool, bool, int64_t, int64_t, int64_t, const double*, int64_t, const double*, int64_t, double, double*, int64_t);

void set_cpu_threads(int n) {
  static void (*const set)(int) = [] {
    void* library = loaded_blas().handle;
    void (*found)(int) = nullptr;
    for (const char* symbol :
        {"scipy_openblas_set_num_threads64_", "openblas_set_num_threads64_", "scipy_openblas_set_num_threads",
            "openblas_set_num_threads", "MKL_Set_Num_Threads", "bli_thread_set_num_threads"})
      if (library && !found) load(library, found, symbol);
    return found;
  }();
  if (set) set(n);
}

const char* cpu_library() { return blas().name.c_str(); }

bool launch_cpu(const GemmProblem& p, const GemmBuffers& buffers, double alpha, double beta) {
  if (!blas().loaded() || p.a_dtype != p.b_dtype || p.a_dtype != p.d_dtype || p.epilogue != Epilogue::none)
    return false;
  if (!blas().sgemm64 && std::max({p.m, p.n, p.k, p.lda, p.ldb, p.ldd}) > INT32_MAX) return false;
  if (p.a_dtype == DType::f32)
    run<float>(p, buffers, {alpha, beta});
  else if (p.a_dtype == DType::f64)
    run<double>(p, buffers, {alpha, beta});
  else if (p.a_dtype == DType::bf16 && bfloat16_dots())
    launch_bfloat16(p, buffers, alpha, beta);
  else
    return false;
  ++counters().cpu;
  return true;
}

bool can_launch_cpu() { return blas().loaded(); }

}  // namespace shim::gemm
