#include "cuda/scatter_reduce.h"

#include <algorithm>
#include <limits>

#include "cuda/elementwise.h"
#include "cuda/launch.h"
#include "cuda/walk.h"

namespace shim::cuda {
namespace {

constexpr int kJoinThreads = 256;

const Family scatter_reduce_family{"scatter_reduce"};

CUfunction scatter_reduce_kernel(const char* entry, DType t, DType index, ScatterReduce how, bool wide, int device) {
  return find_kernel(scatter_reduce_family, entry, key_of(int(t), int(index), int(how), wide), device, [&] {
    constexpr const char* names[] = {"JOIN=Sum", "JOIN=Product", "JOIN=Sum", "JOIN=Greatest", "JOIN=Least"};
    return std::vector<std::string>{std::string("ELEMENT=") + element_type(t),
        index == DType::i32 ? "INDEX=int" : "INDEX=i64", wide ? "WIDE=1" : "WIDE=0", "ADDS=1", names[int(how)]};
  });
}

void run_join(CUfunction f, int64_t n, void** arguments, int device) {
  if (n) launch(f, std::min((n + kJoinThreads - 1) / kJoinThreads, kGridBlocks), 1, kJoinThreads, 1, arguments, device);
}

// What joined with another value gives that one.
Scalar nothing(ScatterReduce how, DType t) {
  if (how == ScatterReduce::prod) return {Scalar::Int, 1};
  if (how != ScatterReduce::amax && how != ScatterReduce::amin) return {Scalar::Int, 0};
  const bool low = how == ScatterReduce::amax;
  if (floating(t))
    return {Scalar::Float, 0, low ? -std::numeric_limits<double>::infinity() : std::numeric_limits<double>::infinity()};
  if (t == DType::b8) return {Scalar::Bool, low ? 0 : 1};
  const int bits = int(itemsize(t)) * 8;
  if (!is_signed(t)) {
    if (bits == 64) return low ? Scalar{Scalar::Int, 0} : Scalar{Scalar::Int, -1, 0, 0, true};
    return {Scalar::Int, low ? 0 : (int64_t(1) << bits) - 1};
  }
  const int64_t least = std::numeric_limits<int64_t>::min() >> (64 - bits);
  return {Scalar::Int, low ? least : ~least};
}

// Of out, index and, unless it is null, src; false where their shapes or kinds are others.
bool walk_of(const Tensor& out, size_t d, const Tensor& index, const Tensor& src, Walk* w) {
  if (!kernels_ready() || !has_kernel(out->dtype()) || (index->dtype() != DType::i64 && index->dtype() != DType::i32))
    return false;
  if (index->device() != out->device() || index->dim() != out->dim() || (!out->sizes()[d] && index->numel()))
    return false;
  if (src && (src->dtype() != out->dtype() || src->device() != out->device() || src->dim() != out->dim())) return false;
  for (size_t i = size_t(out->dim()); i-- > 0;) {
    const int64_t n = index->sizes()[i];
    if ((i != d && n > out->sizes()[i]) || (src && n > src->sizes()[i])) return false;
    if (!extend(*w, n, {i == d ? 0 : out->strides()[i], index->strides()[i], src ? src->strides()[i] : 0}))
      return false;
  }
  return true;
}

bool dim_of(const Tensor& t, int64_t* dim) {
  if (t->dim() == 0 || *dim < -t->dim() || *dim >= t->dim()) return false;
  if (*dim < 0) *dim += t->dim();
  return true;
}

}  // namespace

bool fill_at(const Tensor& out, int64_t dim, const Tensor& index, Scalar value, bool wraps) {
  Walk w;
  if (!dim_of(out, &dim) || !walk_of(out, size_t(dim), index, {}, &w)) return false;
  int64_t total = index->numel(), dim_step = out->strides()[size_t(dim)], size = out->sizes()[size_t(dim)];
  const int device = out->device().index;
  const CUfunction f = scatter_reduce_kernel(
      "fill_at", out->dtype(), index->dtype(), ScatterReduce::sum, total >= int64_t(1) << 31, device);
  if (!f) return false;
  alignas(16) char bits[16] = {};
  store_number(bits, out->dtype(), value);
  void* to = out->data();
  const void* indices = index->data();
  int wrap = wraps;
  void* arguments[] = {&to, &indices, bits, &total, &dim_step, &size, &wrap, &w};
  run_join(f, total, arguments, device);
  return true;
}

bool scatter_reduce(
    const Tensor& out, int64_t dim, const Tensor& index, const Tensor& src, ScatterReduce how, bool include_self) {
  Walk w;
  const DType t = out->dtype();
  const bool mean = how == ScatterReduce::mean;
  if (!dim_of(out, &dim) || !walk_of(out, size_t(dim), index, src, &w) ||
      (mean && (t == DType::b8 || !out->is_contiguous())))
    return false;
  int64_t total = index->numel(), dim_step = out->strides()[size_t(dim)], size = out->sizes()[size_t(dim)],
          n = out->numel();
  const int device = out->device().index;
  const CUfunction f =
      scatter_reduce_kernel("scatter_reduce", t, index->dtype(), how, total >= int64_t(1) << 31, device);
  // Where the places and their counts do not stay in the cache together, one after the other.
  const bool apart = mean && n * int64_t(out->itemsize() + 4) > int64_t(32) << 20;
  const CUfunction count =
      apart ? scatter_reduce_kernel("count_at", t, index->dtype(), how, total >= int64_t(1) << 31, device) : f;
  const CUfunction divide =
      mean ? scatter_reduce_kernel("divide_counts", t, index->dtype(), how, n >= int64_t(1) << 31, device) : f;
  if (!f || !divide || !count || (!include_self && !fill_at(out, dim, index, nothing(how, t), false))) return false;
  if (!total) return true;
  Tensor counts;
  if (mean) {
    counts = empty(out->sizes(), DType::i32, out->device());
    OnDevice current(device);
    check(driver().memset_async(CUdeviceptr(counts->data()), 0, size_t(n) * 4, current_stream(device)),
        "cuMemsetD8Async");
  }
  void *to = out->data(), *counted = mean ? counts->data() : nullptr, *at_once = apart ? nullptr : counted;
  const void *indices = index->data(), *from = src->data();
  void* arguments[] = {&to, &at_once, &indices, &from, &total, &dim_step, &size, &w};
  run_join(f, total, arguments, device);
  void* counting[] = {&counted, &indices, &total, &dim_step, &size, &w};
  if (apart) run_join(count, total, counting, device);
  int more = include_self;
  void* dividing[] = {&to, &counted, &n, &more};
  if (mean) run_join(divide, n, dividing, device);
  return true;
}

}  // namespace shim::cuda
