#include "cuda/cudnn.h"

#include <dlfcn.h>

#include <algorithm>
#include <map>

#include "cuda/cublaslt.h"
#include "cuda/device_failure.h"
#include "cuda/driver.h"

namespace shim::cudnn {
namespace {

using Handle = struct HandleImpl*;
using TensorDesc = struct TensorDescImpl*;
using FilterDesc = struct FilterDescImpl*;
using ConvDesc = struct ConvDescImpl*;
struct Ranked {
  int algorithm, status;
  float time;
  size_t memory;
  int determinism, math;
  int reserved[3];
};  // cudnnConvolution*AlgoPerf_t

// X(member, symbol, argument types): every function gives an int, 0 for success.
#define SHIM_CUDNN(X)                                                                                                \
  X(create, cudnnCreate, (Handle*))                                                                                  \
  X(set_stream, cudnnSetStream, (Handle, cuda::CUstream))                                                            \
  X(make_tensor, cudnnCreateTensorDescriptor, (TensorDesc*))                                                         \
  X(set_tensor, cudnnSetTensorNdDescriptor, (TensorDesc, int, int, const int*, const int*))                          \
  X(make_filter, cudnnCreateFilterDescriptor, (FilterDesc*))                                                         \
  X(set_filter, cudnnSetFilterNdDescriptor, (FilterDesc, int, int, int, const int*))                                 \
  X(make_convolution, cudnnCreateConvolutionDescriptor, (ConvDesc*))                                                 \
  X(set_convolution, cudnnSetConvolutionNdDescriptor, (ConvDesc, int, const int*, const int*, const int*, int, int)) \
  X(set_groups, cudnnSetConvolutionGroupCount, (ConvDesc, int))                                                      \
  X(set_math, cudnnSetConvolutionMathType, (ConvDesc, int))                                                          \
  X(rank_forward, cudnnGetConvolutionForwardAlgorithm_v7,                                                            \
      (Handle, TensorDesc, FilterDesc, ConvDesc, TensorDesc, int, int*, Ranked*))                                    \
  X(rank_input, cudnnGetConvolutionBackwardDataAlgorithm_v7,                                                         \
      (Handle, FilterDesc, TensorDesc, ConvDesc, TensorDesc, int, int*, Ranked*))                                    \
  X(rank_weight, cudnnGetConvolutionBackwardFilterAlgorithm_v7,                                                      \
      (Handle, TensorDesc, TensorDesc, ConvDesc, FilterDesc, int, int*, Ranked*))                                    \
  X(room_forward, cudnnGetConvolutionForwardWorkspaceSize,                                                           \
      (Handle, TensorDesc, FilterDesc, ConvDesc, TensorDesc, int, size_t*))                                          \
  X(room_input, cudnnGetConvolutionBackwardDataWorkspaceSize,                                                        \
      (Handle, FilterDesc, TensorDesc, ConvDesc, TensorDesc, int, size_t*))                                          \
  X(room_weight, cudnnGetConvolutionBackwardFilterWorkspaceSize,                                                     \
      (Handle, TensorDesc, TensorDesc, ConvDesc, FilterDesc, int, size_t*))                                          \
  X(forward, cudnnConvolutionForward,                                                                                \
      (Handle, const void*, TensorDesc, const void*, FilterDesc, const void*, ConvDesc, int, void*, size_t,          \
          const void*, TensorDesc, void*))                                                                           \
  X(input, cudnnConvolutionBackwardData,                                                                             \
      (Handle, const void*, FilterDesc, const void*, TensorDesc, const void*, ConvDesc, int, void*, size_t,          \
          const void*, TensorDesc, void*))                                                                           \
  X(weight, cudnnConvolutionBackwardFilter,                                                                          \
      (Handle, const void*, TensorDesc, const void*, TensorDesc, const void*, ConvDesc, int, void*, size_t,          \
          const void*, FilterDesc, void*))

struct Library {
#define SHIM_MEMBER(member, symbol, types) int(*member) types = nullptr;
  SHIM_CUDNN(SHIM_MEMBER)
#undef SHIM_MEMBER
  size_t (*version)() = nullptr;
  void* opened = nullptr;
  bool loaded = false;
};

bool load(const std::string& path, Library& l) {
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library) return false;
  bool complete = true;
#define SHIM_LOAD(member, symbol, types)                              \
  l.member = reinterpret_cast<int(*) types>(dlsym(library, #symbol)); \
  complete = complete && l.member;
  SHIM_CUDNN(SHIM_LOAD)
#undef SHIM_LOAD
  l.version = reinterpret_cast<size_t (*)()>(dlsym(library, "cudnnGetVersion"));
  l.opened = library;
  return l.loaded = complete && l.version && l.version() / 10000 == 9;
}

const Library& library() {
  static const Library* found = [] {
    auto* l = new Library();
    if (!cuda::driver().loaded || !cublaslt::library().loaded) return l;  // cuDNN stands on cuBLASLt
    for (const std::string& path : cublaslt::library_candidates("cudnn"))
      if (load(path, *l)) break;
    return l;
  }();
  return *found;
}

Handle handle(int device) {  // one a thread: they are not to be shared
  thread_local std::vector<Handle> handles;
  if (handles.size() <= size_t(device)) handles.resize(size_t(device) + 1, nullptr);
  Handle& h = handles[size_t(device)];
  if (!h && library().create(&h) != 0) h = nullptr;
  if (h && library().set_stream(h, cuda::current_stream(device)) != 0) return nullptr;
  return h;
}

constexpr int kFloat = 0, kDouble = 1, kHalf = 2, kBfloat = 9, kContiguous = 0, kChannelsLast = 1,
              kCrossCorrelation = 1;
constexpr int kDefaultMath = 0, kTensorMath = 1, kPlainMath = 3, kMostRanked = 16;
constexpr size_t kMostRoom = size_t(1) << 30;

int type_of(DType t) {
  return t == DType::f32    ? kFloat
         : t == DType::f64  ? kDouble
         : t == DType::f16  ? kHalf
         : t == DType::bf16 ? kBfloat
                            : -1;
}

enum class Way : int { forward, input, weight };

struct Plan {                           // of one problem: kept for the thread's life
  TensorDesc x = nullptr, y = nullptr;  // the larger and the smaller image: input and output of a plain convolution
  FilterDesc w = nullptr;
  ConvDesc c = nullptr;
  int algorithm = -1;
  size_t room = 0;
  bool usable = false;
};

bool ints(IntArrayRef from, int* to) {
  for (size_t i = 0; i < from.size(); ++i) {
    if (from[i] > INT32_MAX || from[i] < 0) return false;
    to[i] = int(from[i]);
  }
  return true;
}

bool describe(const Library& l, TensorDesc* d, const Tensor& t) {
  int sizes[8], strides[8];
  return ints(t->sizes(), sizes) && ints(t->strides(), strides) && l.make_tensor(d) == 0 &&
         l.set_tensor(*d, type_of(t->dtype()), t->dim(), sizes, strides) == 0;
}

bool describe(const Library& l, FilterDesc* d, const Tensor& t, bool last) {
  int sizes[8];
  return ints(t->sizes(), sizes) && l.make_filter(d) == 0 &&
         l.set_filter(*d, type_of(t->dtype()), last ? kChannelsLast : kContiguous, t->dim(), sizes) == 0;
}

bool describe(const Library& l, ConvDesc* d, const Geometry& g, DType t) {
  int padding[4], stride[4], dilation[4];
  if (!ints(g.padding, padding) || !ints(g.stride, stride) || !ints(g.dilation, dilation)) return false;
  const int math = t == DType::f16 || t == DType::bf16        ? kTensorMath
                   : t == DType::f32 && settings().allow_tf32 ? kDefaultMath
                                                              : kPlainMath;
  return l.make_convolution(d) == 0 &&
         l.set_convolution(*d, int(g.stride.size()), padding, stride, dilation, kCrossCorrelation,
             t == DType::f64 ? kDouble : kFloat) == 0 &&
         l.set_groups(*d, int(g.groups)) == 0 && l.set_math(*d, math) == 0;
}

// The first algorithm of cuDNN's ranking that can be had in the room there is.
void choose(const Library& l, Handle h, Way way, Plan& p) {
  Ranked ranked[kMostRanked];
  int found = 0;
  const int status = way == Way::forward ? l.rank_forward(h, p.x, p.w, p.c, p.y, kMostRanked, &found, ranked)
                     : way == Way::input ? l.rank_input(h, p.w, p.y, p.c, p.x, kMostRanked, &found, ranked)
                                         : l.rank_weight(h, p.x, p.y, p.c, p.w, kMostRanked, &found, ranked);
  for (int k = 0; status == 0 && k < found; ++k) {
    if (ranked[k].status != 0 || (settings().deterministic && !ranked[k].determinism)) continue;
    const int a = ranked[k].algorithm;
    if (l.set_math(p.c, ranked[k].math) != 0) continue;
    size_t room = 0;
    const int sized = way == Way::forward ? l.room_forward(h, p.x, p.w, p.c, p.y, a, &room)
                      : way == Way::input ? l.room_input(h, p.w, p.y, p.c, p.x, a, &room)
                                          : l.room_weight(h, p.x, p.y, p.c, p.w, a, &room);
    if (sized != 0 || room > kMostRoom) continue;
    p.algorithm = a;
    p.room = room;
    p.usable = true;
    return;
  }
}

// `x`, `y`: the images before and after a plain convolution; `w`: its weight.
Plan& plan_for(const Library& l, Handle h, Way way, const Tensor& x, const Tensor& y, const Tensor& w, bool last,
    const Geometry& g) {
  thread_local std::map<std::vector<int64_t>, Plan> plans;
  const Settings& s = settings();
  std::vector<int64_t> key{
      int64_t(way), int64_t(x->dtype()), x->device().index, last, s.allow_tf32, s.deterministic, g.groups, x->dim()};
  for (IntArrayRef d :
      {x->sizes(), y->sizes(), w->sizes(), IntArrayRef(g.stride), IntArrayRef(g.padding), IntArrayRef(g.dilation)})
    key.insert(key.end(), d.begin(), d.end());
  auto [it, fresh] = plans.try_emplace(std::move(key));
  Plan& p = it->second;
  if (fresh && describe(l, &p.x, x) && describe(l, &p.y, y) && describe(l, &p.w, w, last) &&
      describe(l, &p.c, g, x->dtype()))
    choose(l, h, way, p);
  return p;
}

bool run(Way way, const Tensor& x, const Tensor& y, const Tensor& w, const Geometry& g) {
  if (!settings().enabled || !available() || type_of(x->dtype()) < 0 || x->dim() > 5) return false;
  const int device = x->device().index;
  cuda::OnDevice current(device);
  const Library& l = library();
  const Handle h = handle(device);
  if (!h) return false;
  const bool last = !y->is_contiguous() || !x->is_contiguous() || !w->is_contiguous();
  Plan& p = plan_for(l, h, way, x, y, w, last, g);
  if (!p.usable) return false;
  const Tensor room = p.room ? empty(Dims{int64_t(p.room)}, DType::u8, x->device()) : Tensor();
  void* at = room ? room->data() : nullptr;
  const double one_wide = 1, none_wide = 0;
  const float one_narrow = 1, none_narrow = 0;
  const bool wide = x->dtype() == DType::f64;
  const void *one = wide ? static_cast<const void*>(&one_wide) : &one_narrow,
             *none = wide ? static_cast<const void*>(&none_wide) : &none_narrow;
  const int status =
      way == Way::forward
          ? l.forward(h, one, p.x, x->data(), p.w, w->data(), p.c, p.algorithm, at, p.room, none, p.y, y->data())
      : way == Way::input
          ? l.input(h, one, p.w, w->data(), p.y, y->data(), p.c, p.algorithm, at, p.room, none, p.x, x->data())
          : l.weight(h, one, p.x, x->data(), p.y, y->data(), p.c, p.algorithm, at, p.room, none, p.w, w->data());
  if (status != 0) {
    cuda::check_device(device);
    p.usable = false;  // not asked again
  }
  return status == 0;
}

}  // namespace

Settings& settings() {
  static Settings s;
  return s;
}

bool available() { return library().loaded; }
void* symbol(const char* name) { return library().loaded ? dlsym(library().opened, name) : nullptr; }
void* thread_handle(int device) { return library().loaded ? handle(device) : nullptr; }
int64_t version() { return library().loaded ? int64_t(library().version()) : 0; }

bool convolve(const Tensor& x, const Tensor& weight, const Geometry& g, const Tensor& out) {
  return run(Way::forward, x, out, weight, g);
}
bool convolve_input(const Tensor& g, const Tensor& weight, const Geometry& how, const Tensor& dx) {
  return run(Way::input, dx, g, weight, how);
}
bool convolve_weight(const Tensor& x, const Tensor& g, const Geometry& how, const Tensor& dweight) {
  return run(Way::weight, x, g, dweight, how);
}

}  // namespace shim::cudnn
