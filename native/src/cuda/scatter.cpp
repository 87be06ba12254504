#include "cuda/scatter.h"

#include "cuda/elementwise.h"
#include "cuda/gather.h"
#include "cuda/entries/gather.h"
#include "cuda/gather_kernels.h"
#include "cuda/sort.h"
#include "cuda/walk.h"

namespace shim::cuda {
namespace {

// out (rows, ...)[keys] = values (keys, ...), in place; values of one element count for all.
Outcome<Tensor> put_rows(const Tensor& out, const Tensor& keys, const Tensor& values) {
  if (!kernels_ready()) return NotMine{"no NVRTC"};
  if (!index_dtype(keys->dtype())) return NotMine{"an index that is neither int32 nor int64"};
  if (out->dtype() != values->dtype()) return NotMine{"tensors of several dtypes"};
  if (!out->is_contiguous() || out->dim() == 0) return NotMine{"a self that is not contiguous"};
  const int64_t line = product_of(out->sizes(), 1, size_t(out->dim())) * int64_t(out->itemsize());
  const bool one = values->numel() == 1;
  Tensor from = packed(*values), at = packed(*keys);
  const int64_t bytes =
      one ? int64_t(out->itemsize()) : common_word({uint64_t(line), address_of(*from), address_of(*out)});
  int64_t inner = line / bytes, total = keys->numel() * inner, step = one ? 0 : inner, size = out->sizes()[0];
  const int device = out->device().index;
  const auto f = moving_kernel<entries::gather::put>(bytes, keys->dtype(), counts_wide(total), device);
  if (!f) return NotMine{"a kernel that could not be compiled"};
  if (!total) return out;
  run_gather(f, total, 1, device, out->data(), from->data(), at->data(), inner, total, step, size, 1);
  return out;
}

struct Runs {
  const int64_t *keys, *order;
  int64_t count, inner, value_step;
};

// Whether rows of `inner` elements begin and end at 16 bytes.
bool in_whole_loads(const TensorImpl& a, const TensorImpl& b, int64_t inner) {
  return common_word({address_of(a), address_of(b), uint64_t(inner * int64_t(a.itemsize()))}) == 16;
}

// out[key] += the values at `order` of each run of equal sorted keys, in that order; keys of `skip` are left out.
Outcome<Tensor> add_runs_into(
    const Tensor& out, const Tensor& keys, const Tensor& order, const Tensor& values, int64_t skip) {
  if (!kernels_ready()) return NotMine{"no NVRTC"};
  if (out->dtype() != values->dtype()) return NotMine{"tensors of several dtypes"};
  if (is_complex(out->dtype())) {  // by their parts
    auto added = add_runs_into(view_as_real(*out), keys, order, view_as_real(*values), skip);
    return added ? Outcome<Tensor>(out) : added.why();
  }
  if (!out->is_contiguous() || out->dim() == 0) return NotMine{"a self that is not contiguous"};
  if (keys->dtype() != DType::i64 || order->dtype() != DType::i64) return NotMine{"keys or an order that are no int64"};
  Tensor from = packed(*values), sorted = packed(*keys), indices = packed(*order);
  int64_t inner = product_of(out->sizes(), 1, size_t(out->dim())), count = keys->numel(), size = out->sizes()[0],
          step = values->numel() == count * inner ? inner : 0;
  const int device = out->device().index;
  const auto f = adding_kernel<entries::gather::add_runs>(out->dtype(), DType::i64, false, device);
  if (!f) return NotMine{"a kernel that could not be compiled"};
  if (count >= int64_t(1) << 31) return NotMine{"2**31 keys"};
  if (!count || !inner) return out;
  const bool whole = step && in_whole_loads(*out, *from, inner);
  const int64_t loads = whole ? inner * int64_t(out->itemsize()) / 16 : inner;
  const int threads = int(std::min<int64_t>((loads + 31) / 32 * 32, kGatherThreads));
  const Runs runs{
      static_cast<const int64_t*>(sorted->data()), static_cast<const int64_t*>(indices->data()), count, inner, step};
  launch(f, {count, std::min<int64_t>((loads + threads - 1) / threads, 64), threads}, device, out->data(), from->data(),
      runs, size, skip, int(whole));
  return out;
}

// Whether each row of src, contiguous as out is, goes to one row of it.
bool by_rows(const TensorImpl& out, size_t dim, const TensorImpl& index, const TensorImpl& src) {
  if (dim || out.dim() < 2 || !out.is_contiguous() || !src.is_contiguous() || index.strides()[0] != 1) return false;
  if (!std::ranges::equal(index.sizes(), src.sizes())) return false;
  for (size_t i = 1; i < size_t(out.dim()); ++i)
    if (index.sizes()[i] != out.sizes()[i] || (index.sizes()[i] != 1 && index.strides()[i])) return false;
  return true;
}

constexpr NotMine kOtherDims{"an index or source of other dims than self's"}, kNoSuchDim{"a dim out of range"},
    kOtherSource{"a source of another dtype or other sizes than self's"};

}  // namespace

Outcome<Tensor> scatter_into(
    const Tensor& out, int64_t dim, const Tensor& index, const Tensor& src, bool adds, bool wraps) {
  const int n = out->dim();
  const bool one = src->dim() == 0;
  if (!kernels_ready()) return NotMine{"no NVRTC"};
  if (!index_dtype(index->dtype())) return NotMine{"an index that is neither int32 nor int64"};
  if (n == 0 || index->dim() != n || (!one && src->dim() != n)) return kOtherDims;
  if (dim < -n || dim >= n) return kNoSuchDim;
  if (src->dtype() != out->dtype()) return NotMine{"tensors of several dtypes"};
  if (index->device() != out->device() || src->device() != out->device()) return NotMine{"tensors of several devices"};
  const size_t d = size_t(dim < 0 ? dim + n : dim);
  if (adds && is_complex(out->dtype()) && !one) {  // by their parts
    Dims sizes(index->sizes().begin(), index->sizes().end());
    sizes.push_back(2);
    auto added =
        scatter_into(view_as_real(*out), int64_t(d), expand(*unsqueeze(*index, n), sizes), view_as_real(*src), true);
    return added ? Outcome<Tensor>(out) : added.why();
  }
  const int device = out->device().index;
  if (adds && by_rows(*out, d, *index, *src)) {
    const int64_t total = src->numel(), inner = product_of(out->sizes(), 1, size_t(n));
    const auto f = adding_kernel<entries::gather::add_rows>(out->dtype(), index->dtype(), counts_wide(total), device);
    if (!f) return NotMine{"a kernel that could not be compiled"};
    const bool whole = in_whole_loads(*out, *src, inner);
    if (total)
      run_gather(f, whole ? total * int64_t(out->itemsize()) / 16 : total, 1, device, out->data(), index->data(),
          src->data(), total, inner, out->sizes()[0], int(whole));
    return out;
  }
  Walk w;
  for (size_t i = size_t(n); i-- > 0;) {
    if ((i != d && index->sizes()[i] > out->sizes()[i]) || (!one && index->sizes()[i] > src->sizes()[i]))
      return NotMine{"an index of larger sizes than self or the source"};
    const int64_t steps[3] = {i == d ? 0 : out->strides()[i], index->strides()[i], one ? 0 : src->strides()[i]};
    if (!extend(w, index->sizes()[i], steps)) return NotMine{"more dims than a kernel walks"};
  }
  int64_t total = index->numel(), dim_step = out->strides()[d], size = out->sizes()[d];
  void* to = out->data();
  const void *indices = index->data(), *from = src->data();
  if (adds) {
    const auto f =
        adding_kernel<entries::gather::scatter_add>(out->dtype(), index->dtype(), counts_wide(total), device);
    if (!f) return NotMine{"a kernel that could not be compiled"};
    if (total) run_gather(f, total, 1, device, to, indices, from, total, dim_step, size, w);
    return out;
  }
  const auto f =
      moving_kernel<entries::gather::scatter>(int64_t(out->itemsize()), index->dtype(), counts_wide(total), device);
  if (!f) return NotMine{"a kernel that could not be compiled"};
  if (total) run_gather(f, total, 1, device, to, indices, from, total, dim_step, size, w, wraps);
  return out;
}

Outcome<Tensor> spread(const Tensor& index, int64_t dim, const Tensor& self) {
  Dims sizes(self->sizes().begin(), self->sizes().end());
  if (index->dim() > 1) return NotMine{"an index of several dims"};
  if (sizes.empty()) return NotMine{"no dims"};
  if (!sizes[size_t(dim)] && index->numel()) return NotMine{"an index into no places"};
  Dims shape(sizes.size(), 1);
  shape[size_t(dim)] = sizes[size_t(dim)] = index->numel();
  return expand(*view(*contiguous(index), shape), sizes);
}

std::optional<int64_t> dim_from_front(int64_t dim, const Tensor& self) {
  if (dim < -self->dim() || dim >= self->dim()) return std::nullopt;
  return dim < 0 ? dim + self->dim() : dim;
}

bool same_but(const Tensor& self, const Tensor& src, int64_t dim, int64_t count) {
  if (src->dim() != self->dim() || src->dtype() != self->dtype()) return false;
  for (int i = 0; i < self->dim(); ++i)
    if (src->sizes()[size_t(i)] != (i == dim ? count : self->sizes()[size_t(i)])) return false;
  return true;
}

Outcome<Tensor> scatter(
    Registered<Target> target, const Tensor& self, int64_t dim, const Tensor& index, const Tensor& src) {
  if (src->dim() != index->dim()) return kOtherDims;
  return scatter_into(written(target, self), dim, index, src, false);
}

Outcome<Tensor> scatter_add(
    Registered<Target> target, const Tensor& self, int64_t dim, const Tensor& index, const Tensor& src) {
  if (src->dim() != index->dim()) return kOtherDims;
  return scatter_into(written(target, self), dim, index, src, true);
}

Outcome<Tensor> scatter_value(
    Registered<Target> target, const Tensor& self, int64_t dim, const Tensor& index, Scalar value) {
  const Tensor out = written(target, self), one = empty({}, self->dtype(), self->device());
  fill_(one, value);
  return scatter_into(out, dim, index, one, false);
}

Outcome<Tensor> index_add(Registered<Target> target, const Tensor& self, int64_t given_dim, const Tensor& index,
    const Tensor& source, Scalar alpha) {
  if (alpha.type == Scalar::Complex || alpha.to_double() != 1) return NotMine{"an alpha other than 1"};
  const auto dim = dim_from_front(given_dim, self);
  if (!dim) return kNoSuchDim;
  if (index->dim() > 1) return NotMine{"an index of several dims"};
  if (source->dim() != self->dim()) return kOtherDims;
  Dims sizes(self->sizes().begin(), self->sizes().end()), shape(sizes.size(), 1);
  shape[size_t(*dim)] = sizes[size_t(*dim)] = index->numel();
  if (!std::ranges::equal(source->sizes(), sizes)) return kOtherSource;
  const Tensor out = written(target, self);
  return scatter_into(out, *dim, expand(*view(*contiguous(index), shape), sizes), source, true);
}

Outcome<Tensor> index_copy(
    Registered<Target> target, const Tensor& self, int64_t given_dim, const Tensor& index, const Tensor& source) {
  const auto dim = dim_from_front(given_dim, self);
  if (!dim) return kNoSuchDim;
  if (!same_but(self, source, *dim, index->numel())) return kOtherSource;
  auto indices = spread(index, *dim, self);
  if (!indices) return indices.why();
  return scatter_into(written(target, self), *dim, *indices, source, false);
}

Outcome<Tensor> add_runs(Registered<Target> target, const Tensor& self, const Tensor& keys, const Tensor& order,
    const Tensor& values, int64_t skip) {
  return add_runs_into(written(target, self), keys, order, values, skip);
}

Outcome<Tensor> index_put(
    Registered<Target> target, const Tensor& self, OptionalTensorList given, const Tensor& values, bool adds) {
  std::vector<Tensor> indices;
  for (const OptionalTensor& t : given) {
    if (!t) return NotMine{"dims without an index before others"};
    indices.push_back((*t)->dtype() == DType::i32 ? to_dtype(*t, DType::i64) : *t);
  }
  if (indices.empty() || indices.size() > size_t(self->dim())) return NotMine{"no indices, or more than self has dims"};
  if (*target == Target::self && !self->is_contiguous()) return NotMine{"a self that is not contiguous"};
  if (values->dtype() != self->dtype()) return NotMine{"tensors of several dtypes"};
  const Tensor out = written(target, self);
  const auto like_self = [&](const Tensor& t) { return *target == Target::self ? t : laid_out_as(t, *self); };
  const IntArrayRef sizes = out->sizes();
  Tensor keys = indices.size() == 1 && !adds ? indices[0] : flat_keys(indices, sizes.subspan(0, indices.size()));
  if (!keys) return NotMine{"indices that no kernel makes one of"};
  Dims rows{1}, shape(keys->sizes().begin(), keys->sizes().end());
  for (size_t i = 0; i < indices.size(); ++i) rows[0] *= sizes[i];
  for (size_t i = indices.size(); i < sizes.size(); ++i) rows.push_back(sizes[i]), shape.push_back(sizes[i]);
  if (!adds) {
    auto put = put_rows(view(*out, rows), keys, values->numel() == 1 ? values : expand(*values, shape));
    return put ? Outcome<Tensor>(like_self(out)) : put.why();
  }
  if (!keys->numel()) return like_self(out);
  auto in_order = sort(view(*keys, Dims{keys->numel()}), 0, false);
  if (!in_order) return in_order.why();
  const auto& [sorted, order] = *in_order;  // equal places are added up in order: the same sums in every run
  auto added = add_runs_into(view(*out, rows), sorted, order, expand(*values, shape), -1);
  return added ? Outcome<Tensor>(like_self(out)) : added.why();
}

}  // namespace shim::cuda
