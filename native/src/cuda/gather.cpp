#include "cuda/gather.h"

#include <algorithm>

#include "cuda/elementwise.h"
#include "cuda/gather_source.h"
#include "cuda/launch.h"
#include "cuda/walk.h"
#include "ops/joining.h"

namespace shim::cuda {
namespace {

constexpr int kGatherThreads = 256, kParts = 32;

const char* gather_source() {
  static const char* text = joined_source({kGatherSource});
  return text;
}
const Family gather_family{"gather", gather_source};

// For kernels that only move words of `bytes` bytes.
CUfunction mover(const char* entry, int64_t bytes, DType index, bool wide, int device) {
  return find_kernel(gather_family, entry, key_of(bytes, int(index), wide), device, [&] {
    return std::vector<std::string>{std::string("ELEMENT=") + word_type(bytes),
        index == DType::i32 ? "INDEX=int" : "INDEX=i64", wide ? "WIDE=1" : "WIDE=0"};
  });
}
CUfunction adder(const char* entry, DType t, DType index, bool wide, int device) {
  if (!elementwise_dtype(t) || t == DType::f8e4m3fn || t == DType::f8e5m2) return nullptr;
  return find_kernel(gather_family, entry, key_of(63, int(t), int(index), wide), device, [&] {
    return std::vector<std::string>{std::string("ELEMENT=") + element_type(t),
        index == DType::i32 ? "INDEX=int" : "INDEX=i64", wide ? "WIDE=1" : "WIDE=0", "ADDS=1"};
  });
}

// The widest word, at most 16 bytes, that divides every one of these numbers of bytes and addresses.
int64_t common_word(std::initializer_list<uint64_t> parts) {
  uint64_t all = 16;
  for (uint64_t p : parts) all |= p;
  return int64_t(all & ~(all - 1));
}

bool is_index(DType t) { return t == DType::i64 || t == DType::i32; }
bool wide(int64_t n) { return n >= int64_t(1) << 31; }
uint64_t address(const TensorImpl& t) { return reinterpret_cast<uintptr_t>(t.data()); }

void run_gather(CUfunction f, int64_t n, int64_t y, void** arguments, int device) {
  launch(f, std::min((n + kGatherThreads - 1) / kGatherThreads, kGridBlocks), y, kGatherThreads, 1, arguments, device);
}

bool join(const Tensor& out, std::span<const Tensor> parts, size_t d, int64_t* start) {
  struct Parts {
    const void* from[kParts];
    int64_t start[kParts], width[kParts];
  } p{};
  const IntArrayRef sizes = out->sizes();
  const int64_t outer = product_of(sizes, 0, d),
                inner = product_of(sizes, d + 1, sizes.size()) * int64_t(out->itemsize());
  int64_t row = sizes[d] * inner, most = 0;
  uint64_t all = uint64_t(row) | address(*out) | 16;
  for (const Tensor& t : parts) all |= uint64_t(t->sizes()[d] * inner) | address(*t);
  const int64_t bytes = int64_t(all & ~(all - 1));
  size_t n = 0;
  for (const Tensor& t : parts) {
    const int64_t width = t->sizes()[d] * inner;
    p.from[n] = t->data();
    p.start[n] = *start * inner / bytes;
    p.width[n++] = width / bytes;
    most = std::max(most, width / bytes * outer);
    *start += t->sizes()[d];
  }
  const int device = out->device().index;
  const CUfunction f = mover("join", bytes, DType::i64, wide(most), device);
  if (!f) return false;
  if (!most) return true;
  void* to = out->data();
  int64_t rows = outer, step = row / bytes;
  void* arguments[] = {&to, &rows, &step, &p};
  run_gather(f, most, int64_t(n), arguments, device);
  return true;
}

}  // namespace

Outcome<Tensor> cat(TensorList tensors, int64_t dim) {
  if (!kernels_ready()) return NotMine{"no CUDA kernels here"};
  const Outcome<Joined> joined = joined_sizes(tensors, dim);
  if (!joined) return joined.why();
  const auto& [d, shape, elements, format] = *joined;
  Tensor out = empty(shape, tensors[0]->dtype(), tensors[0]->device(), false, format);
  if (!out->numel()) return out;
  const bool packed_all = std::ranges::all_of(tensors, [](const Tensor& t) { return t->is_contiguous(); });
  if (format != MemoryFormat::contiguous || (tensors.size() <= 4 && !packed_all)) {  // a copy of each anyway
    copy_parts(out, pointers_of(tensors), int64_t(d));
    return out;
  }
  int64_t start = 0;
  for (size_t begin = 0; begin < tensors.size(); begin += kParts) {
    std::vector<Tensor> parts;
    for (size_t i = begin; i < std::min(begin + kParts, tensors.size()); ++i) parts.push_back(contiguous(tensors[i]));
    if (!join(out, parts, d, &start)) return NotMine{"a kernel that could not be compiled"};
  }
  return out;
}

Outcome<Tensor> stack(TensorList tensors, int64_t dim) {
  Outcome<std::vector<Tensor>> parts = unsqueezed(tensors, &dim);
  if (!parts) return parts.why();
  return cat(*parts, dim);
}

Tensor take_along(const TensorImpl& self, int64_t dim, const TensorImpl& index, bool wraps) {
  const int n = self.dim();
  if (!kernels_ready() || !is_index(index.dtype()) || index.device() != self.device() || n == 0 || dim < -n || dim >= n)
    return {};
  const size_t d = size_t(dim < 0 ? dim + n : dim);
  Dims shape(self.sizes().begin(), self.sizes().begin() + long(d));
  shape.insert(shape.end(), index.sizes().begin(), index.sizes().end());
  shape.insert(shape.end(), self.sizes().begin() + long(d) + 1, self.sizes().end());
  Tensor out = empty(shape, self.dtype(), self.device());
  if (!out->numel()) return out;
  Tensor from = packed(self), at = packed(index);
  const int64_t item = int64_t(self.itemsize()), line = product_of(self.sizes(), d + 1, size_t(n)) * item;
  const int64_t bytes = common_word({uint64_t(line), address(*from), address(*out)});
  int64_t count = index.numel(), inner = line / bytes, total = out->numel() * item / bytes, size = self.sizes()[d],
          dim_step = inner, outer_step = size * inner;
  const int device = self.device().index;
  const CUfunction f = mover("take", bytes, index.dtype(), wide(total), device);
  if (!f) return {};
  const void *source = from->data(), *indices = at->data();
  void* to = out->data();
  int wrap = wraps;
  void* arguments[] = {&source, &to, &indices, &count, &inner, &total, &outer_step, &dim_step, &size, &wrap};
  run_gather(f, total, 1, arguments, device);
  return out;
}

Tensor flat_keys(std::span<const Tensor> indices, IntArrayRef sizes) {
  constexpr size_t kIndices = 6;
  struct {
    const void* at[kIndices];
    int64_t size[kIndices];
    int count;
  } g{};
  if (!kernels_ready() || indices.empty() || indices.size() > kIndices) return {};
  Dims shape;
  for (const Tensor& t : indices) {
    if (t->dtype() != DType::i64 || t->device() != indices[0]->device()) return {};
    try {
      shape = broadcast_shapes(shape, t->sizes());
    } catch (const Error&) {
      return {};  // the record's shape rule knows PyTorch's text
    }
  }
  std::vector<Tensor> held;
  for (const Tensor& t : indices) {
    held.push_back(contiguous(expand(*t, shape)));
    g.at[g.count] = held.back()->data();
    g.size[g.count] = sizes[size_t(g.count)];
    ++g.count;
  }
  Tensor keys = empty(shape, DType::i64, indices[0]->device());
  int64_t n = keys->numel();
  const int device = keys->device().index;
  const CUfunction f = mover("flatten", 8, DType::i64, wide(n), device);
  if (!f) return {};
  void* to = keys->data();
  void* arguments[] = {&to, &n, &g};
  if (n) run_gather(f, n, 1, arguments, device);
  return keys;
}

Tensor take_points(const TensorImpl& self, int64_t first, std::span<const Tensor> indices) {
  const size_t n = size_t(self.dim()), p = size_t(first), many = indices.size();
  if (p + many > n || indices[0]->device() != self.device()) return {};
  Tensor keys = flat_keys(indices, self.sizes().subspan(p, many));
  if (!keys) return {};
  const Dims sizes{
      product_of(self.sizes(), 0, p), product_of(self.sizes(), p, p + many), product_of(self.sizes(), p + many, n)};
  Tensor rows = take_along(*view(*packed(self), sizes), 1, *view(*keys, Dims{keys->numel()}), false);
  if (!rows) return {};
  Dims shape(self.sizes().begin(), self.sizes().begin() + long(p));
  shape.insert(shape.end(), keys->sizes().begin(), keys->sizes().end());
  shape.insert(shape.end(), self.sizes().begin() + long(p + many), self.sizes().end());
  return view(*rows, shape);
}

Tensor gather(const TensorImpl& self, int64_t dim, const TensorImpl& index) {
  const int n = self.dim();
  if (!kernels_ready() || !is_index(index.dtype()) || index.device() != self.device() || n == 0 || index.dim() != n ||
      dim < -n || dim >= n)
    return {};
  const size_t d = size_t(dim < 0 ? dim + n : dim);
  Walk w;
  int64_t done = 1;
  for (size_t i = size_t(n); i-- > 0;) {
    if (i != d && index.sizes()[i] > self.sizes()[i]) return {};
    const int64_t steps[3] = {i == d ? 0 : self.strides()[i], index.strides()[i], done};
    if (!extend(w, index.sizes()[i], steps)) return {};
    done *= index.sizes()[i];
  }
  Tensor out = empty(index.sizes(), self.dtype(), self.device());
  int64_t total = out->numel(), dim_step = self.strides()[d], size = self.sizes()[d];
  const int device = self.device().index;
  const CUfunction f = mover("gather", int64_t(self.itemsize()), index.dtype(), wide(total), device);
  if (!f) return {};
  if (!total) return out;
  const void *from = self.data(), *indices = index.data();
  void* to = out->data();
  void* arguments[] = {&from, &indices, &to, &total, &dim_step, &size, &w};
  run_gather(f, total, 1, arguments, device);
  return out;
}

bool scatter(const Tensor& out, int64_t dim, const Tensor& index, const Tensor& src, bool adds, bool wraps) {
  const int n = out->dim();
  const bool one = src->dim() == 0;
  if (!kernels_ready() || !is_index(index->dtype()) || n == 0 || index->dim() != n || (!one && src->dim() != n) ||
      dim < -n || dim >= n)
    return false;
  if (src->dtype() != out->dtype() || index->device() != out->device() || src->device() != out->device()) return false;
  const size_t d = size_t(dim < 0 ? dim + n : dim);
  Walk w;
  for (size_t i = size_t(n); i-- > 0;) {
    if ((i != d && index->sizes()[i] > out->sizes()[i]) || (!one && index->sizes()[i] > src->sizes()[i])) return false;
    const int64_t steps[3] = {i == d ? 0 : out->strides()[i], index->strides()[i], one ? 0 : src->strides()[i]};
    if (!extend(w, index->sizes()[i], steps)) return false;
  }
  int64_t total = index->numel(), dim_step = out->strides()[d], size = out->sizes()[d];
  const int device = out->device().index;
  const CUfunction f = adds ? adder("scatter_add", out->dtype(), index->dtype(), wide(total), device)
                            : mover("scatter", int64_t(out->itemsize()), index->dtype(), wide(total), device);
  if (!f) return false;
  if (!total) return true;
  void* to = out->data();
  const void *indices = index->data(), *from = src->data();
  int wrap = wraps;  // adding has no such argument
  void* arguments[] = {&to, &indices, &from, &total, &dim_step, &size, &w, &wrap};
  run_gather(f, total, 1, arguments, device);
  return true;
}

bool put_rows(const Tensor& out, const Tensor& keys, const Tensor& values) {
  if (!kernels_ready() || !is_index(keys->dtype()) || out->dtype() != values->dtype() || !out->is_contiguous() ||
      out->dim() == 0)
    return false;
  const int64_t line = product_of(out->sizes(), 1, size_t(out->dim())) * int64_t(out->itemsize());
  const bool one = values->numel() == 1;
  Tensor from = packed(*values), at = packed(*keys);
  const int64_t bytes = one ? int64_t(out->itemsize()) : common_word({uint64_t(line), address(*from), address(*out)});
  int64_t inner = line / bytes, total = keys->numel() * inner, step = one ? 0 : inner, size = out->sizes()[0];
  const int device = out->device().index;
  const CUfunction f = mover("put", bytes, keys->dtype(), wide(total), device);
  if (!f) return false;
  if (!total) return true;
  void* to = out->data();
  const void *source = from->data(), *indices = at->data();
  int wraps = 1;
  void* arguments[] = {&to, &source, &indices, &inner, &total, &step, &size, &wraps};
  run_gather(f, total, 1, arguments, device);
  return true;
}

bool add_runs(const Tensor& out, const Tensor& keys, const Tensor& order, const Tensor& values, int64_t skip) {
  if (!kernels_ready() || out->dtype() != values->dtype() || !out->is_contiguous() || out->dim() == 0 ||
      keys->dtype() != DType::i64 || order->dtype() != DType::i64)
    return false;
  Tensor from = packed(*values), sorted = packed(*keys), indices = packed(*order);
  int64_t inner = product_of(out->sizes(), 1, size_t(out->dim())), count = keys->numel(), size = out->sizes()[0],
          step = values->numel() == count * inner ? inner : 0;
  const int device = out->device().index;
  const CUfunction f = adder("add_runs", out->dtype(), DType::i64, false, device);
  if (!f || count >= int64_t(1) << 31) return false;
  if (!count || !inner) return true;
  void* to = out->data();
  const void *source = from->data(), *k = sorted->data(), *o = indices->data();
  void* arguments[] = {&to, &source, &k, &o, &count, &inner, &step, &size, &skip};
  launch(f, count, std::min<int64_t>((inner + kGatherThreads - 1) / kGatherThreads, 64), kGatherThreads, 1, arguments,
      device);
  return true;
}

}  // namespace shim::cuda
