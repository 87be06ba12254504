#include "cpu/scatter.h"

#include <algorithm>
#include <cstring>

#include "cpu/kernel_table.h"
#include "cpu/index_bounds.h"
#include "cpu/parallel.h"
#include "cpu/pointwise.h"
#include "cpu/types.h"
#include "ops/kernels.h"

namespace shim {

namespace {

// The walk over an index: `at` is the tensor that is indexed along one dim, `flat` the one that lies along the index.
struct Walk {
  int dims = 0, dim = -1;  // without those of one place; which of them is the indexed one, if any
  int64_t sizes[kMaxDims], index_steps[kMaxDims], at_steps[kMaxDims],
      flat_steps[kMaxDims];  // in elements; at_steps is 0 along the dim
  int64_t along = 0;         // the step of `at` along the dim
  const int64_t* index = nullptr;
  char *at = nullptr, *flat = nullptr;
};

template <class T> struct Put {
  static void f(T& at, T& flat) { at = flat; }
};
template <class T> struct Add {
  static void f(T& at, T& flat) { at = T(at + flat); }
};
template <class T> struct Multiply {
  static void f(T& at, T& flat) { at = T(at * flat); }
};
template <class T> struct Largest {
  static void f(T& at, T& flat) { at = flat > at || flat != flat ? flat : at; }
};  // a NaN stays: nothing is above it
template <class T> struct Smallest {
  static void f(T& at, T& flat) { at = flat < at || flat != flat ? flat : at; }
};
template <class T> struct Take {
  static void f(T& at, T& flat) { flat = at; }
};

// One row of the walk. Steps are in elements; what walks over the rows is the same for all types and ways.
using InnerLoop = void (*)(const int64_t* index, char* at, char* flat, int64_t n, int64_t index_step, int64_t at_step,
    int64_t flat_step, int64_t along);
template <class T, class Op>
SHIM_CLONES void inner_loop(const int64_t* index, char* at_bytes, char* flat_bytes, int64_t n, int64_t index_step,
    int64_t at_step, int64_t flat_step, int64_t along) {
  T *at = reinterpret_cast<T*>(at_bytes), *flat = reinterpret_cast<T*>(flat_bytes);
  if (index_step == 0) {
    at += index[0] * along;
    if (at_step == 1 && flat_step == 1) {
      if constexpr (std::is_same_v<Op, Put<T>>) return void(std::memcpy(at, flat, size_t(n) * sizeof(T)));
      if constexpr (std::is_same_v<Op, Take<T>>) return void(std::memcpy(flat, at, size_t(n) * sizeof(T)));
      int64_t i = 0;
      if constexpr (std::is_same_v<Op, Add<T>>) {
        typedef T Vector __attribute__((vector_size(32), aligned(alignof(T)), may_alias));
        for (constexpr int64_t kWide = 32 / sizeof(T); i + kWide <= n; i += kWide)
          *reinterpret_cast<Vector*>(at + i) += *reinterpret_cast<const Vector*>(flat + i);
      }
      for (; i < n; ++i) Op::f(at[i], flat[i]);
      return;
    }
    if constexpr (!std::is_same_v<Op, Take<T>>)
      if (at_step == 1 && flat_step == 0) {
        T value = *flat;
        for (int64_t i = 0; i < n; ++i) Op::f(at[i], value);
        return;
      }
    for (int64_t i = 0; i < n; ++i) Op::f(at[i * at_step], flat[i * flat_step]);
  } else if (index_step == 1 && flat_step == 1 && at_step == 0) {
    if (along == 1)
      for (int64_t i = 0; i < n; ++i) Op::f(at[index[i]], flat[i]);
    else
      for (int64_t i = 0; i < n; ++i) Op::f(at[index[i] * along], flat[i]);
  } else {
    for (int64_t i = 0; i < n; ++i) Op::f(at[i * at_step + index[i * index_step] * along], flat[i * flat_step]);
  }
}

void walk_part(const Walk& w, InnerLoop inner, int64_t size, int split, int64_t begin, int64_t end) {
  const int last = w.dims - 1;
  int64_t sizes[kMaxDims], count[kMaxDims] = {};
  std::copy(w.sizes, w.sizes + w.dims, sizes);
  const int64_t* index = w.index;
  char *at = w.at, *flat = w.flat;
  if (split >= 0) {
    sizes[split] = end - begin;
    index += begin * w.index_steps[split], at += begin * w.at_steps[split] * size,
        flat += begin * w.flat_steps[split] * size;
  }
  for (;;) {
    inner(index, at, flat, sizes[last], w.index_steps[last], w.at_steps[last], w.flat_steps[last], w.along);
    int d = last - 1;
    for (; d >= 0; --d) {
      index += w.index_steps[d], at += w.at_steps[d] * size, flat += w.flat_steps[d] * size;
      if (++count[d] < sizes[d]) break;
      index -= sizes[d] * w.index_steps[d], at -= sizes[d] * w.at_steps[d] * size,
          flat -= sizes[d] * w.flat_steps[d] * size;
      count[d] = 0;
    }
    if (d < 0) return;
  }
}

// Threads share a dim other than the indexed one: each element of `at` is one thread's, and sums are the same in every run.
// False where there is no loop for the elements, which have `size` bytes.
bool walk(const Walk& w, InnerLoop inner, size_t size) {
  if (!inner) return false;
  int64_t all = 1;
  for (int d = 0; d < w.dims; ++d) all *= w.sizes[d];
  if (all == 0) return true;
  int split = -1;
  for (int d = 0; d < w.dims && split < 0; ++d)
    if (d != w.dim) split = d;
  if (split < 0 || all < 2 * kGrain) return walk_part(w, inner, int64_t(size), -1, 0, 0), true;
  const int64_t n = w.sizes[split];
  parallel_for(n, std::max<int64_t>(1, kGrain / (all / n)),
      [&](int64_t begin, int64_t end) { walk_part(w, inner, int64_t(size), split, begin, end); });
  return true;
}

Walk walk_of(const TensorImpl& at, int dim, const TensorImpl& index, const TensorImpl& flat) {
  Walk w;
  for (int d = 0; d < index.dim(); ++d) {
    if (index.sizes()[d] == 1) continue;
    if (d == dim) w.dim = w.dims;
    w.sizes[w.dims] = index.sizes()[d];
    w.index_steps[w.dims] = index.strides()[d];
    w.at_steps[w.dims] = d == dim ? 0 : at.strides()[d];
    w.flat_steps[w.dims++] = flat.strides()[d];
  }
  if (w.dims == 0) {
    w.dims = 1, w.sizes[0] = 1;
    w.index_steps[0] = w.at_steps[0] = w.flat_steps[0] = 0;
  }
  w.along = at.strides()[dim];
  w.index = index.data_as<int64_t>();
  w.at = static_cast<char*>(at.data());
  w.flat = static_cast<char*>(flat.data());
  return w;
}

template <template <class> class Op> InnerLoop by_size(size_t size) {
  return of_size<InnerLoop>(size, []<class T>(T) -> InnerLoop { return inner_loop<T, Op<T>>; });
}

InnerLoop added(DType t) {
  switch (t) {
    case DType::f32: return inner_loop<float, Add<float>>;
    case DType::f64: return inner_loop<double, Add<double>>;
    case DType::u8:
    case DType::i8:
    case DType::i16:
    case DType::i32:
    case DType::i64: return by_size<Add>(itemsize(t));
    default: return nullptr;
  }
}

template <template <class> class Op> InnerLoop combined(DType t) {
  switch (t) {
    case DType::f32: return inner_loop<float, Op<float>>;
    case DType::f64: return inner_loop<double, Op<double>>;
    case DType::i32: return inner_loop<int32_t, Op<int32_t>>;
    case DType::i64: return inner_loop<int64_t, Op<int64_t>>;
    default: return nullptr;
  }
}

InnerLoop loop_of(Scatter how, DType t) {
  switch (how) {
    case Scatter::put: return by_size<Put>(itemsize(t));
    case Scatter::add: return added(t);
    case Scatter::multiply: return combined<Multiply>(t);
    case Scatter::largest: return combined<Largest>(t);
    case Scatter::smallest: return combined<Smallest>(t);
  }
  return nullptr;
}
bool combines_natively(DType t) { return t == DType::f32 || t == DType::f64 || t == DType::i32 || t == DType::i64; }

bool adds_natively(DType t) {
  return t == DType::f32 || t == DType::f64 || t == DType::u8 || t == DType::i8 || t == DType::i16 || t == DType::i32 ||
         t == DType::i64;
}

bool plain(const TensorImpl& t) { return t.device().is_cpu() && !t.has_math_bits(); }

// An index as int64, in the order of its elements; an expanded one keeps its strides, so that its repeats are seen. `n`: the bound.
bool usable(const Tensor& index, int64_t n, Tensor* out) {
  if (!plain(*index) || (index->dtype() != DType::i64 && index->dtype() != DType::i32)) return false;
  Dims sizes, strides;
  for (int d = 0; d < index->dim(); ++d) {
    const bool repeats = index->strides()[d] == 0;
    sizes.push_back(repeats ? std::min<int64_t>(1, index->sizes()[d]) : index->sizes()[d]);
  }
  Tensor once = index;
  for (int d = 0; d < index->dim(); ++d)
    if (sizes[size_t(d)] != index->sizes()[d]) once = narrow(*once, d, 0, sizes[size_t(d)]);
  once = once->dtype() == DType::i64 ? contiguous(once) : contiguous(to_dtype(once, DType::i64));
  if (!within(*once, n)) return false;
  *out = expand(*once, index->sizes());
  return true;
}

}  // namespace

bool scatter(const Tensor& out, int64_t dim, const Tensor& index, const Tensor& src, Scatter how) {
  const int n = out->dim();
  if (!plain(*out) || !plain(*src) || n == 0 || index->dim() != n || src->dim() != n || dim < -n || dim >= n)
    return false;
  if (src->dtype() != out->dtype() || out->itemsize() > 8) return false;
  if (how == Scatter::add ? !adds_natively(out->dtype()) : how != Scatter::put && !combines_natively(out->dtype()))
    return false;
  const int d = int(dim < 0 ? dim + n : dim);
  for (int i = 0; i < n; ++i) {
    if (index->sizes()[i] > src->sizes()[i] || (i != d && index->sizes()[i] > out->sizes()[i])) return false;
    if (out->strides()[i] == 0 && out->sizes()[i] > 1) return false;
  }
  Tensor indices;
  if (!usable(index, out->sizes()[d], &indices)) return false;
  const Tensor from = clashes(*out, *src) || out->data() == src->data() ? clone(src) : src;
  const Walk w = walk_of(*out, d, *indices, *from);
  return walk(w, loop_of(how, out->dtype()), out->itemsize());
}

bool index_put(const Tensor& out, std::span<const Tensor> indices, const Tensor& values, bool adds) {
  const size_t many = indices.size();
  if (!plain(*out) || !plain(*values) || many == 0 || many > size_t(out->dim()) || !out->is_contiguous() ||
      values->dtype() != out->dtype())
    return false;
  Dims points;
  for (const Tensor& t : indices) {
    if (!plain(*t) || (t->dtype() != DType::i64 && t->dtype() != DType::i32)) return false;
    points = broadcast_shapes(points, t->sizes());
  }
  const IntArrayRef sizes = out->sizes();
  Tensor keys = empty(points, DType::i64, Device{});
  fill_(keys, Scalar{Scalar::Int, 0});
  auto* key = keys->data_as<int64_t>();
  bool good = true;
  for (size_t k = 0; k < many; ++k) {
    const Tensor index = contiguous(
        expand(*(indices[k]->dtype() == DType::i64 ? indices[k] : to_dtype(indices[k], DType::i64)), points));
    const auto* p = index->data_as<int64_t>();
    const int64_t n = sizes[k];
    for (int64_t i = 0; i < keys->numel(); ++i) {
      good &= p[i] >= -n && p[i] < n;
      key[i] = key[i] * n + (p[i] < 0 ? p[i] + n : p[i]);
    }
  }
  if (!good) return false;
  Dims shape = points;
  for (size_t i = many; i < sizes.size(); ++i) shape.push_back(sizes[i]);
  const int64_t rows = product_of(sizes, 0, many), inner = product_of(sizes, many, sizes.size()), count = keys->numel();
  Tensor source =
      values->numel() == 1 ? expand(*view(*values, Dims{1, 1}), Dims{count, inner}) : expand(*values, shape);
  if (values->numel() != 1) source = view(*contiguous(source), Dims{count, inner});
  return scatter(view(*out, Dims{rows, inner}), 0, expand(*view(*keys, Dims{count, 1}), Dims{count, inner}), source,
      adds ? Scatter::add : Scatter::put);
}

Tensor gather(const TensorImpl& self, int64_t dim, const TensorImpl& index) {
  const int n = self.dim();
  if (!plain(self) || n == 0 || index.dim() != n || dim < -n || dim >= n || self.itemsize() > 8) return {};
  const int d = int(dim < 0 ? dim + n : dim);
  for (int i = 0; i < n; ++i)
    if (i != d && index.sizes()[i] > self.sizes()[i]) return {};
  Tensor indices;
  if (!usable(Tensor(const_cast<TensorImpl*>(&index)), self.sizes()[d], &indices)) return {};
  Tensor out = empty(index.sizes(), self.dtype(), Device{});
  walk(walk_of(self, d, *indices, *out), by_size<Take>(self.itemsize()), self.itemsize());
  return out;
}

}  // namespace shim
