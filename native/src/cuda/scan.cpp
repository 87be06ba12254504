#include "cuda/scan.h"

#include <algorithm>

#include "cuda/elementwise.h"
#include "cuda/entries/nonzero.h"
#include "cuda/entries/scan.h"
#include "cuda/scatter.h"
#include "ops/kernels.h"

namespace shim::cuda {
namespace {

const Family scan_family{"scan"};

template <class E> Kernel<E> sums(Running how, DType t, DType compute, DType out, int vector, int device) {
  return find_kernel<E>(scan_family, key_of(int(how), int(t), int(compute), int(out), vector), device, [&] {
    constexpr const char* joins[] = {"SUMS=Add", "SUMS=Multiply", "SUMS=LogAddExp"};
    return std::vector<std::string>{std::string("ELEMENT=") + element_type(t),
        std::string("C=") + compute_type(compute), std::string("OUT=") + element_type(out),
        "V=" + std::to_string(vector), joins[int(how)]};
  });
}

// Few long rows, in parts: too few to fill the GPU with otherwise.
bool scan_in_parts(Running how, const Tensor& self, const Tensor& out, Cut c, int v, DType compute) {
  const int device = self->device().index, threads = std::min(threads_for(c.n / v), 256);
  const auto entry = [&]<class E>(E) { return sums<E>(how, self->dtype(), compute, out->dtype(), v, device); };
  const auto totals = entry(entries::scan::scan_parts{});
  const auto scan = entry(entries::scan::scan_carries{});
  const auto rest = entry(entries::scan::scan_rest{});
  if (!totals || !scan || !rest) return false;
  int64_t per = std::max<int64_t>(int64_t(threads) * v * 4, ((c.n * c.outer / 4096) + v - 1) / v * v);
  int64_t parts = std::min<int64_t>((c.n + per - 1) / per, kMostRows);
  per = ((c.n + parts - 1) / parts + v - 1) / v * v;
  parts = (c.n + per - 1) / per;
  const Tensor carries = empty(Dims{c.outer, parts}, compute, self->device());
  const void* from = self->data();
  void* p = carries->data();
  launch(totals, {c.outer, parts, threads}, device, from, p, c.n, per);
  launch(scan, {c.outer, 1, threads_for(parts)}, device, p, parts);
  launch(rest, {c.outer, parts, threads}, device, from, out->data(), p, c.n, per);
  return true;
}

// --- what a mask picks ---------------------------------------------------------------------------------------------------

constexpr int64_t kPart = 4096;  // PART of scan.cuh
constexpr int kMostDims = 16;

template <class E> Kernel<E> picks(DType t, size_t moved, int vector, int device) {
  return find_kernel<E>(scan_family, key_of(int(t), moved, vector), device, [&] {
    return std::vector<std::string>{std::string("ELEMENT=") + element_type(t), "C=u32",
        std::string("OUT=") + word_type(int64_t(moved)), "V=" + std::to_string(vector), "PICKS=1"};
  });
}

struct Picked {
  Tensor mask, starts;  // contiguous; where each part's elements begin among all that are not zero
  int64_t total = 0;
  int vector = 1, threads = 32;
};

// Counts, on the GPU; false where there is no kernel.
bool start(const Tensor& mask, size_t moved, Picked* p) {
  p->mask = contiguous(mask);
  const int device = mask->device().index;
  p->vector = vector_of(p->mask->data(), mask->itemsize());
  p->threads = std::min(threads_for(std::min(mask->numel(), kPart) / p->vector), 256);
  const auto each = picks<entries::nonzero::count_true>(mask->dtype(), moved, p->vector, device);
  const auto scan = picks<entries::nonzero::starts>(mask->dtype(), moved, p->vector, device);
  if (!each || !scan) return false;
  int64_t n = mask->numel(), parts = (n + kPart - 1) / kPart, slots = parts + 1;
  p->starts = empty(Dims{slots}, DType::i64, mask->device());
  void* counts = p->starts->data();
  launch(each, {parts, 1, p->threads}, device, p->mask->data(), n, counts);
  launch(scan, {1, 1, threads_for(slots)}, device, counts, slots);
  return true;
}

// The same, and waits for how many there are.
bool count(const Tensor& mask, size_t moved, Picked* p) {
  if (!start(mask, moved, p)) return false;
  Tensor last = empty({}, DType::i64, Device{});
  copy_(last, select(*p->starts, 0, p->starts->numel() - 1));
  p->total = *last->data_as<int64_t>();
  return true;
}

}  // namespace

Tensor running(Running how, const Tensor& given, int64_t dim, DType result) {
  const DType t = given->dtype();
  const int dims = std::max(given->dim(), 1);
  if (!kernels_ready() || !has_kernel(t) || !has_kernel(result) || result == DType::b8 || dim < -dims || dim >= dims)
    return {};
  if (how == Running::log_sum_exp && !floating(result)) return {};
  if (dim < 0) dim += dims;
  const Tensor self = contiguous(given);
  Tensor out = empty(self->sizes(), result, self->device());
  if (!self->numel()) return out;
  Cut c = cut_at(self, dim);
  const DType compute = floating(result) ? cuda::compute_dtype(result) : DType::i64;
  const int device = self->device().index;
  const void* from = self->data();
  void* to = out->data();
  if (c.inner > 1) {
    const auto f = sums<entries::scan::scan_columns>(how, t, compute, result, 1, device);
    if (!f || c.outer > kMostRows) return {};
    launch(f, {(c.inner + 31) / 32, c.outer, 32, 32}, device, from, to, c.n, c.inner);
    return out;
  }
  if (c.outer > kMostBlocks) return {};
  const int v = std::min(vector_for(c.n, {&self}), 4);
  if (c.outer < 132 && c.n > 8192) return scan_in_parts(how, self, out, c, v, compute) ? out : Tensor();
  const auto f = sums<entries::scan::scan_rows>(how, t, compute, result, v, device);
  if (!f) return {};
  launch(f, {c.outer, 1, std::min(threads_for(c.n / (4 * v)), 512)}, device, from, to, c.n);
  return out;
}

Tensor running_extreme(bool largest, const Tensor& given, int64_t dim, Tensor* values) {
  const DType t = given->dtype();
  if (!kernels_ready() || !has_kernel(t) || given->dim() == 0 || dim < -given->dim() || dim >= given->dim()) return {};
  if (dim < 0) dim += given->dim();
  const Tensor self = contiguous(given);
  *values = empty(self->sizes(), t, self->device());
  Tensor indices = empty(self->sizes(), DType::i64, self->device());
  if (!self->numel()) return indices;
  Cut c = cut_at(self, dim);
  const int device = self->device().index;
  const auto f = find_kernel<entries::scan::scan_extreme>(scan_family, key_of(int(largest), int(t)), device, [&] {
    return std::vector<std::string>{std::string("ELEMENT=") + element_type(t),
        std::string("C=") + compute_type(cuda::compute_dtype(t)), "OUT=i64", "V=1",
        std::string("EXTREME=") + (largest ? "1" : "0")};
  });
  int64_t lines = c.outer * c.inner;
  if (!f || (lines + 7) / 8 > kMostBlocks || c.n > INT32_MAX) return {};
  const int warps = lines < 132 * 8 ? 1 : 8;  // of a block: few lines are spread over the multiprocessors
  launch(f, {(lines + warps - 1) / warps, 1, 32 * warps}, device, self->data(), (*values)->data(), indices->data(),
      lines, c.n, c.inner);
  return indices;
}

Tensor nonzero(const Tensor& self) {
  if (!kernels_ready() || !has_kernel(self->dtype()) || self->dim() == 0 || self->dim() > kMostDims ||
      self->numel() > kMostBlocks * kPart)
    return {};
  if (!self->numel()) return empty(Dims{self->dim(), 0}, DType::i64, self->device());
  Picked p;
  if (!count(self, 8, &p)) return {};
  const int device = self->device().index;
  const auto f = picks<entries::nonzero::place_true>(self->dtype(), 8, p.vector, device);
  if (!f) return {};
  Tensor out = empty(Dims{self->dim(), p.total}, DType::i64, self->device());
  if (!p.total) return out;
  struct {
    int64_t n[kMostDims];
    int dims;
  } sizes{};
  sizes.dims = self->dim();
  std::copy(self->sizes().begin(), self->sizes().end(), sizes.n);
  int64_t n = self->numel();
  launch(f, {(n + kPart - 1) / kPart, 1, p.threads}, device, p.mask->data(), n, p.starts->data(), out->data(), p.total,
      sizes);
  return out;
}

Tensor take_masked(const Tensor& self, const Tensor& mask) {
  if (!kernels_ready() || mask->dtype() != DType::b8 || mask->dim() == 0 || mask->device() != self->device() ||
      self->numel() > kMostBlocks * kPart)
    return {};
  if (mask->dim() != self->dim() || !std::equal(mask->sizes().begin(), mask->sizes().end(), self->sizes().begin()))
    return {};
  if (!self->numel()) return empty(Dims{0}, self->dtype(), self->device());
  Picked p;
  if (!count(mask, self->itemsize(), &p)) return {};
  const int device = self->device().index;
  const auto f = picks<entries::nonzero::take_true>(DType::b8, self->itemsize(), p.vector, device);
  if (!f) return {};
  Tensor out = empty(Dims{p.total}, self->dtype(), self->device()), source = contiguous(self);
  if (!p.total) return out;
  int64_t n = self->numel();
  launch(f, {(n + kPart - 1) / kPart, 1, p.threads}, device, p.mask->data(), n, p.starts->data(), source->data(),
      out->data());
  return out;
}

// Waits for nothing.
Outcome<Tensor> masked_scatter(
    Registered<Target> target, const Tensor& self, const Tensor& given_mask, const Tensor& source) {
  const Dims shape = broadcast_shapes(self->sizes(), given_mask->sizes());
  if (shape.empty()) return NotMine{"no dims"};
  if (*target == Target::self && !std::ranges::equal(shape, self->sizes()))
    return NotMine{"a mask of larger sizes than self"};
  const Tensor out = *target == Target::self ? self : clone(expand(*self, shape), MemoryFormat::contiguous),
               mask = expand(*given_mask, shape);
  if (!kernels_ready()) return NotMine{"no NVRTC"};
  if (mask->dtype() != DType::b8) return NotMine{"a mask that is not bool"};
  if (mask->device() != out->device() || source->device() != out->device())
    return NotMine{"tensors of several devices"};
  if (out->numel() > kMostBlocks * kPart) return NotMine{"more elements than a kernel counts"};
  if (!out->is_contiguous()) return NotMine{"a self that is not contiguous"};
  if (source->dtype() != out->dtype()) return NotMine{"tensors of several dtypes"};
  if (!out->numel()) return out;
  const int device = out->device().index;
  Picked p;
  if (!start(mask, out->itemsize(), &p)) return NotMine{"a kernel that could not be compiled"};
  const auto f = picks<entries::nonzero::put_true>(DType::b8, out->itemsize(), p.vector, device);
  if (!f) return NotMine{"a kernel that could not be compiled"};
  const Tensor values = contiguous(source);
  int64_t n = out->numel(), size = values->numel();
  launch(f, {(n + kPart - 1) / kPart, 1, p.threads}, device, p.mask->data(), n, p.starts->data(), values->data(),
      out->data(), size);
  return out;
}

}  // namespace shim::cuda
