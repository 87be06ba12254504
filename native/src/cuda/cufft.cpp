#include "cuda/cufft.h"

#include <dlfcn.h>

#include <cmath>
#include <map>

#include "cuda/cublaslt.h"
#include "cuda/device_failure.h"
#include "cuda/driver.h"
#include "cuda/elementwise.h"
#include "cuda/launch.h"
#include "ops/kernels.h"

namespace shim::cuda {
namespace {

using FftHandle = int;
// X(member, symbol, argument types): every function gives an int, 0 for success.
#define SHIM_CUFFT(X)                                                                                                  \
  X(create, cufftCreate, (FftHandle*))                                                                                 \
  X(destroy, cufftDestroy, (FftHandle))                                                                                \
  X(set_auto, cufftSetAutoAllocation, (FftHandle, int))                                                                \
  X(make, cufftMakePlanMany64,                                                                                         \
      (FftHandle, int, long long*, long long*, long long, long long, long long*, long long, long long, int, long long, \
          size_t*))                                                                                                    \
  X(set_stream, cufftSetStream, (FftHandle, CUstream))                                                                 \
  X(set_room, cufftSetWorkArea, (FftHandle, void*))                                                                    \
  X(c2c, cufftExecC2C, (FftHandle, void*, void*, int))                                                                 \
  X(z2z, cufftExecZ2Z, (FftHandle, void*, void*, int))                                                                 \
  X(r2c, cufftExecR2C, (FftHandle, void*, void*))                                                                      \
  X(d2z, cufftExecD2Z, (FftHandle, void*, void*))                                                                      \
  X(c2r, cufftExecC2R, (FftHandle, void*, void*))                                                                      \
  X(z2d, cufftExecZ2D, (FftHandle, void*, void*))

struct FftLibrary {
#define SHIM_MEMBER(member, symbol, types) int(*member) types = nullptr;
  SHIM_CUFFT(SHIM_MEMBER)
#undef SHIM_MEMBER
  bool loaded = false;
};

const FftLibrary& fft_library() {
  static const FftLibrary* found = [] {
    auto* l = new FftLibrary();
    if (!driver().loaded) return l;
    for (const std::string& path : cublaslt::library_candidates("cufft")) {
      void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
      if (!library) continue;
      bool complete = true;
#define SHIM_LOAD(member, symbol, types)                               \
  l->member = reinterpret_cast<int(*) types>(dlsym(library, #symbol)); \
  complete = complete && l->member;
      SHIM_CUFFT(SHIM_LOAD)
#undef SHIM_LOAD
      l->loaded = complete;
      if (complete) break;
    }
    return l;
  }();
  return *found;
}

struct FftPlan {
  FftHandle handle = 0;
  size_t room = 0;
  bool usable = false;
};
constexpr size_t kMostFftPlans = 4096;                                  // as many as PyTorch keeps
constexpr int kTypes[2][3] = {{0x29, 0x2a, 0x2c}, {0x69, 0x6a, 0x6c}};  // CUFFT_C2C, R2C, C2R; Z2Z, D2Z, Z2D

// A plan of the thread's own: a handle holds the stream and the room of its transform.
FftPlan& fft_plan(const FftLibrary& l, int type, int rank, const int64_t* sizes, int64_t batch, int device) {
  thread_local std::map<std::vector<int64_t>, FftPlan> plans;
  std::vector<int64_t> key{type, device, batch};
  key.insert(key.end(), sizes, sizes + rank);
  if (const auto it = plans.find(key); it != plans.end()) return it->second;
  if (plans.size() >= kMostFftPlans) {
    for (auto& [k, p] : plans) {
      OnDevice current{int(k[1])};
      if (p.usable) l.destroy(p.handle);
    }
    plans.clear();
  }
  FftPlan& p = plans[std::move(key)];
  long long n[3] = {};
  for (int i = 0; i < rank; ++i) n[i] = sizes[i];
  if (l.create(&p.handle) != 0) return p;
  p.usable = l.set_auto(p.handle, 0) == 0 &&
             l.make(p.handle, rank, n, nullptr, 1, 0, nullptr, 1, 0, type, batch, &p.room) == 0;
  if (!p.usable) l.destroy(p.handle);
  return p;
}

enum class Transform { complex, from_real, to_real };

// What a complex number's parts are, side by side.
Tensor parts_of(const Tensor& t) { return is_complex(t->dtype()) ? view_as_real(*t) : t; }

// The transform of the last `rank` dimensions (1 to 3), contiguous float32, float64 or complex ones of these; from_real gives the half that
// stands for all, to_real makes `size` numbers of the last dimension. Every number is multiplied by `scale`. Null where cuFFT is not there or
// does not take the problem.
Tensor transformed(Transform how, const Tensor& given, int rank, bool forward, double scale, int64_t size) {
  const FftLibrary& l = fft_library();
  const DType t = given->dtype();
  const bool wide = t == DType::f64 || t == DType::c128, from_real = how == Transform::from_real,
             to_real = how == Transform::to_real;
  if (!l.loaded || !kernels_ready() || rank < 1 || rank > 3 || given->dim() < rank || !given->numel()) return {};
  if (t != (from_real ? (wide ? DType::f64 : DType::f32) : (wide ? DType::c128 : DType::c64))) return {};
  const int device = given->device().index;
  OnDevice current(device);
  Dims shape(given->sizes().begin(), given->sizes().end());
  int64_t sizes[3], batch = 1;
  for (int i = 0; i < rank; ++i) sizes[i] = shape[shape.size() - size_t(rank - i)];
  for (size_t i = 0; i + size_t(rank) < shape.size(); ++i) batch *= shape[i];
  if (to_real) shape.back() = sizes[rank - 1] = size;
  if (from_real) shape.back() = shape.back() / 2 + 1;
  FftPlan& p = fft_plan(l, kTypes[wide][int(how)], rank, sizes, batch, device);
  if (!p.usable || l.set_stream(p.handle, current_stream(device)) != 0) return {};
  Tensor x = contiguous(given);
  if (to_real && x.get() == given.get()) x = clone(x);  // which the transform to real numbers may write to
  const Tensor room = p.room ? empty(Dims{int64_t(p.room)}, DType::u8, x->device()) : Tensor();
  if (room && l.set_room(p.handle, room->data()) != 0) return {};
  const DType made = to_real ? (wide ? DType::f64 : DType::f32) : (wide ? DType::c128 : DType::c64);
  const Tensor out = empty(shape, made, x->device());
  constexpr int kForward = -1, kInverse = 1;
  void *from = x->data(), *to = out->data();
  const int status = from_real ? (wide ? l.d2z : l.r2c)(p.handle, from, to)
                     : to_real ? (wide ? l.z2d : l.c2r)(p.handle, from, to)
                               : (wide ? l.z2z : l.c2c)(p.handle, from, to, forward ? kForward : kInverse);
  if (status != 0) {
    check_device(device);
    return {};
  }
  if (scale != 1) {
    const Tensor parts = parts_of(out);
    const DType compute = parts->dtype();
    float narrow = float(scale);
    double whole = scale;
    char* const factor = compute == DType::f64 ? reinterpret_cast<char*>(&whole) : reinterpret_cast<char*>(&narrow);
    Elementwise e{
        "mul", compute, compute, 3, {Operand::of(*parts), Operand::of(*parts), Operand{factor, compute, {}, {}}}};
    e.numbers[2] = true;
    if (!run_elementwise(e, parts->sizes(), device)) return {};
  }
  return out;
}

// The three operators. `size`: of the result's last dim, of a transform to real numbers. `whole`: from_real gives all frequencies.
Outcome<Tensor> transformed_dims(Transform how, const Tensor& self, IntArrayRef given, int64_t normalization,
    bool forward, int64_t size, bool whole) {
  if (!self->numel() || self->has_math_bits()) return NotMine{"no elements, or math bits"};
  Dims dims(given.begin(), given.end());
  const int64_t ndim = self->dim(), rank = int64_t(dims.size());
  if (rank < 1 || rank > 3 || rank > ndim) return NotMine{"other than one to three dims"};
  bool among[3] = {};
  for (int64_t& d : dims) {
    d += d < 0 ? ndim : 0;
    const int64_t place = d - (ndim - rank);
    if (place < 0 || place >= rank || among[place]) return NotMine{"dims that are not the last ones"};
    among[place] = true;
  }
  if (how != Transform::complex && dims.back() != ndim - 1) return NotMine{"a halved dim that is not the last one"};
  const bool to_real = how == Transform::to_real;
  if (to_real && (size < 1 || self->sizes().back() != size / 2 + 1)) return NotMine{"a size that the input has not"};
  int64_t count = to_real ? size : 1;
  for (int64_t d = ndim - rank; d < ndim - (to_real ? 1 : 0); ++d) count *= self->sizes()[size_t(d)];
  const double scale = normalization == 1 ? 1 / std::sqrt(double(count)) : normalization == 2 ? 1 / double(count) : 1;
  Tensor x = self;
  if (whole) {  // that of complex numbers
    const DType t = self->dtype();
    if (t != DType::f32 && t != DType::f64) return NotMine{"neither float32 nor float64"};
    x = empty(self->sizes(), t == DType::f64 ? DType::c128 : DType::c64, self->device());
    copy_(x, self);
    how = Transform::complex;
  }
  return or_not_mine(transformed(how, x, int(rank), forward, scale, size),
      "a dtype without transforms, no cuFFT, or a plan that it refuses");
}

}  // namespace

Outcome<Tensor> fft_c2c(const Tensor& self, IntArrayRef dims, int64_t normalization, bool forward) {
  return transformed_dims(Transform::complex, self, dims, normalization, forward, 0, false);
}
Outcome<Tensor> fft_r2c(const Tensor& self, IntArrayRef dims, int64_t normalization, bool onesided) {
  return transformed_dims(Transform::from_real, self, dims, normalization, !onesided, 0, !onesided);
}
Outcome<Tensor> fft_c2r(const Tensor& self, IntArrayRef dims, int64_t normalization, int64_t last_dim_size) {
  return transformed_dims(Transform::to_real, self, dims, normalization, false, last_dim_size, false);
}

}  // namespace shim::cuda
