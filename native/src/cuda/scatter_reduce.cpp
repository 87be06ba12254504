// Reductions into the places of an index, and numbers put there.

#include <algorithm>
#include <limits>

#include "cuda/elementwise.h"
#include "cuda/scatter.h"
#include "cuda/launch.h"
#include "cuda/walk.h"

namespace shim::cuda {
namespace {

constexpr int kJoinThreads = 256;

enum class ScatterReduce { sum, prod, mean, amax, amin };
std::optional<ScatterReduce> reduction_of(std::string_view name) {
  if (name == "sum") return ScatterReduce::sum;
  if (name == "prod") return ScatterReduce::prod;
  if (name == "mean") return ScatterReduce::mean;
  if (name == "amax") return ScatterReduce::amax;
  if (name == "amin") return ScatterReduce::amin;
  return std::nullopt;
}

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

// Of out, index and, unless it is null, src.
Outcome<Walk> walk_of(const Tensor& out, size_t d, const Tensor& index, const Tensor& src) {
  if (!kernels_ready()) return NotMine{"no NVRTC"};
  if (!has_kernel(out->dtype())) return NotMine{"a dtype without a CUDA kernel"};
  if (index->dtype() != DType::i64 && index->dtype() != DType::i32)
    return NotMine{"an index that is neither int32 nor int64"};
  if (index->device() != out->device() || (src && src->device() != out->device()))
    return NotMine{"tensors of several devices"};
  if (src && src->dtype() != out->dtype()) return NotMine{"tensors of several dtypes"};
  if (index->dim() != out->dim() || (src && src->dim() != out->dim()))
    return NotMine{"an index or source of other dims than self's"};
  if (!out->sizes()[d] && index->numel()) return NotMine{"an index into no places"};
  Walk w;
  for (size_t i = size_t(out->dim()); i-- > 0;) {
    const int64_t n = index->sizes()[i];
    if ((i != d && n > out->sizes()[i]) || (src && n > src->sizes()[i]))
      return NotMine{"an index of larger sizes than self or the source"};
    if (!extend(w, n, {i == d ? 0 : out->strides()[i], index->strides()[i], src ? src->strides()[i] : 0}))
      return NotMine{"more dims than a kernel walks"};
  }
  return w;
}

// out[..., index, ...] = value along `dim`: `index` has as many dims as out, negative ones count from the end where it wraps.
Outcome<Tensor> fill_at(const Tensor& out, int64_t dim, const Tensor& index, Scalar value, bool wraps) {
  Outcome<Walk> w = walk_of(out, size_t(dim), index, {});
  if (!w) return w.why();
  int64_t total = index->numel(), dim_step = out->strides()[size_t(dim)], size = out->sizes()[size_t(dim)];
  const int device = out->device().index;
  const CUfunction f = scatter_reduce_kernel(
      "fill_at", out->dtype(), index->dtype(), ScatterReduce::sum, total >= int64_t(1) << 31, device);
  if (!f) return NotMine{"a kernel that could not be compiled"};
  alignas(16) char bits[16] = {};
  store_number(bits, out->dtype(), value);
  void* to = out->data();
  const void* indices = index->data();
  int wrap = wraps;
  void* arguments[] = {&to, &indices, bits, &total, &dim_step, &size, &wrap, &*w};
  run_join(f, total, arguments, device);
  return out;
}

// out[..., index, ...] becomes the reduction of src there, and of what it was with `include_self`; arguments as of scatter_into.
Outcome<Tensor> reduce_into(
    const Tensor& out, int64_t dim, const Tensor& index, const Tensor& src, ScatterReduce how, bool include_self) {
  const DType t = out->dtype();
  const bool mean = how == ScatterReduce::mean;
  Outcome<Walk> w = walk_of(out, size_t(dim), index, src);
  if (!w) return w.why();
  if (mean && t == DType::b8) return NotMine{"means of bool tensors"};
  if (mean && !out->is_contiguous()) return NotMine{"means in a self that is not contiguous"};
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
  if (!f || !divide || !count) return NotMine{"a kernel that could not be compiled"};
  if (!include_self)
    if (auto cleared = fill_at(out, dim, index, nothing(how, t), false); !cleared) return cleared.why();
  if (!total) return out;
  Tensor counts;
  if (mean) {
    counts = empty(out->sizes(), DType::i32, out->device());
    OnDevice current(device);
    check(driver().memset_async(CUdeviceptr(counts->data()), 0, size_t(n) * 4, current_stream(device)),
        "cuMemsetD8Async");
  }
  void *to = out->data(), *counted = mean ? counts->data() : nullptr, *at_once = apart ? nullptr : counted;
  const void *indices = index->data(), *from = src->data();
  void* arguments[] = {&to, &at_once, &indices, &from, &total, &dim_step, &size, &*w};
  run_join(f, total, arguments, device);
  void* counting[] = {&counted, &indices, &total, &dim_step, &size, &*w};
  if (apart) run_join(count, total, counting, device);
  int more = include_self;
  void* dividing[] = {&to, &counted, &n, &more};
  if (mean) run_join(divide, n, dividing, device);
  return out;
}

constexpr NotMine kNoSuchDimToReduce{"a dim out of range"}, kOtherReduction{"a reduction without a kernel"};

}  // namespace

Outcome<Tensor> scatter_reduce(Registered<Target> target, const Tensor& self, int64_t given_dim, const Tensor& index,
    const Tensor& src, std::string_view reduce, bool include_self) {
  const auto dim = dim_from_front(given_dim, self);
  if (!dim) return kNoSuchDimToReduce;
  const auto how = reduction_of(reduce);
  if (!how) return kOtherReduction;
  return reduce_into(written(target, self), *dim, index, src, *how, include_self);
}

Outcome<Tensor> index_reduce(Registered<Target> target, const Tensor& self, int64_t given_dim, const Tensor& index,
    const Tensor& source, std::string_view reduce, bool include_self) {
  const auto dim = dim_from_front(given_dim, self);
  if (!dim) return kNoSuchDimToReduce;
  const auto how = reduction_of(reduce);
  if (!how) return kOtherReduction;
  if (!same_but(self, source, *dim, index->numel()))
    return NotMine{"a source of another dtype or other sizes than self's"};
  auto indices = spread(index, *dim, self);
  if (!indices) return indices.why();
  return reduce_into(written(target, self), *dim, *indices, source, *how, include_self);
}

Outcome<Tensor> index_fill(Registered<Target> target, const Tensor& self, int64_t given_dim, const Tensor& index,
    const TensorOrScalar& given) {
  const auto dim = dim_from_front(given_dim, self);
  if (!dim) return kNoSuchDimToReduce;
  if (given.tensor && given.tensor->dim()) return NotMine{"a value of some dims, which PyTorch refuses"};
  auto indices = spread(index, *dim, self);
  if (!indices) return indices.why();
  if (given.tensor && given.tensor->device().is_cuda()) {
    const DType t = self->dtype();
    Tensor one = packed(*given.tensor);
    if (is_complex(one->dtype()) != is_complex(t)) return NotMine{"tensors of several dtypes"};
    if (one->dtype() != t) one = to_dtype(one, t);
    return scatter_into(written(target, self, MemoryFormat::preserve), *dim, *indices, one, false, true);
  }
  const Scalar value = given.tensor ? item(packed(*given.tensor)) : given.number;
  if (value.type == Scalar::Complex) return NotMine{"a complex number"};
  if (!given.tensor) check_fits(value, self->dtype());
  return fill_at(written(target, self, MemoryFormat::preserve), *dim, *indices, value, true);
}

}  // namespace shim::cuda
