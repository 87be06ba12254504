#include "cpu/scatter_kernels.h"

#include "cpu/parallel.h"

namespace shim {
namespace {

constexpr NotMine kUnwritten{"dtypes, shapes or indices that the loops do not write"};

// self, in place or a copy, after f(self); f gives false where it leaves self as it is.
template <class F>
Outcome<Tensor> changed(
    const Tensor& self, bool in_place, int64_t elements, F&& f, MemoryFormat format = MemoryFormat::contiguous) {
  const Tensor out = unlocked(elements, [&] {
    const Tensor to = in_place ? self : clone(self, format);
    return f(to) ? to : Tensor{};
  });
  return or_not_mine(out, kUnwritten.reason);
}

// The dim from 0 on; -1: there is no such dim.
int64_t dim_from_zero(int64_t dim, const TensorImpl& self) {
  if (dim < 0) dim += self.dim();
  return dim < 0 || dim >= self.dim() ? -1 : dim;
}

// An index of one dim as one of `sizes`, along `dim`.
Tensor index_along(const Tensor& index, int64_t dim, IntArrayRef sizes) {
  Dims shape(sizes.size(), 1);
  shape[size_t(dim)] = index->numel();
  return expand(*view(*contiguous(index), shape), sizes);
}

// index_add and index_copy
Outcome<Tensor> written_along(
    const Tensor& self, int64_t given_dim, const Tensor& index, const Tensor& source, Scatter how, bool in_place) {
  const int64_t dim = dim_from_zero(given_dim, *self);
  if (dim < 0 || index->dim() > 1 || source->dim() != self->dim() || source->sizes()[size_t(dim)] != index->numel())
    return NotMine{"shapes that do not fit together"};
  for (int i = 0; i < self->dim(); ++i)
    if (i != dim && source->sizes()[size_t(i)] != self->sizes()[size_t(i)])
      return NotMine{"shapes that do not fit together"};
  return changed(self, in_place, source->numel(),
      [&](const Tensor& out) { return scatter(out, dim, index_along(index, dim, source->sizes()), source, how); });
}

}  // namespace

Outcome<Tensor> scattered(
    const Tensor& self, int64_t dim, const Tensor& index, const Tensor& src, Scatter how, bool in_place) {
  return changed(self, in_place, index->numel(), [&](const Tensor& out) { return scatter(out, dim, index, src, how); });
}

Outcome<Tensor> reduced_by_scatter(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& src,
    std::string_view reduce, bool include_self, bool in_place) {
  if (!include_self) return NotMine{"reductions without self"};
  const Scatter how = reduce == "sum"    ? Scatter::add
                      : reduce == "prod" ? Scatter::multiply
                      : reduce == "amax" ? Scatter::largest
                      : reduce == "amin" ? Scatter::smallest
                                         : Scatter::put;
  if (how == Scatter::put) return NotMine{"a reduction other than sum, prod, amax and amin"};
  return scattered(self, dim, index, src, how, in_place);
}

Outcome<Tensor> scattered_value(const Tensor& self, int64_t dim, const Tensor& index, Scalar value, bool in_place) {
  if (value.type == Scalar::Complex && !is_complex(self->dtype())) return NotMine{"a complex number"};
  if (value.type == Scalar::Float && is_integral(self->dtype(), true)) return NotMine{"a float among whole numbers"};
  const Tensor one = scalar_tensor(value, self->dtype(), Device{});
  return scattered(self, dim, index, expand(*one, index->sizes()), Scatter::put, in_place);
}

Outcome<Tensor> index_added(
    const Tensor& self, int64_t dim, const Tensor& index, const Tensor& source, Scalar alpha, bool in_place) {
  if (alpha.type == Scalar::Complex || alpha.to_double() != 1) return NotMine{"an alpha other than 1"};
  return written_along(self, dim, index, source, Scatter::add, in_place);
}

Outcome<Tensor> index_copied(
    const Tensor& self, int64_t dim, const Tensor& index, const Tensor& source, bool in_place) {
  if (index->dtype() != DType::i64) return NotMine{"an index of another dtype than int64"};
  return written_along(self, dim, index, source, Scatter::put, in_place);
}

Outcome<Tensor> index_filled(const Tensor& self, int64_t given_dim, const Tensor& index, Scalar value, bool in_place) {
  const int64_t dim = dim_from_zero(given_dim, *self);
  if (dim < 0 || index->dim() > 1) return NotMine{"no such dim, or an index of several"};
  if (index->dtype() != DType::i64) return NotMine{"an index that is not int64"};
  if (value.type == Scalar::Complex) return NotMine{"a complex number"};
  if (value.type == Scalar::Float && !is_floating(self->dtype())) return NotMine{"a float among whole numbers"};
  check_fits(value, self->dtype());
  Dims shape(self->sizes().begin(), self->sizes().end());
  shape[size_t(dim)] = index->numel();
  const Tensor indices = index_along(index, dim, shape), one = scalar_tensor(value, self->dtype(), Device{});
  return changed(
      self, in_place, indices->numel(),
      [&](const Tensor& out) { return scatter(out, dim, indices, expand(*one, shape), Scatter::put); },
      MemoryFormat::preserve);
}

Outcome<Tensor> index_put_at(
    const Tensor& self, OptionalTensorList indices, const Tensor& values, bool accumulate, bool in_place) {
  std::vector<Tensor> given;
  for (const OptionalTensor& index : indices) {
    if (!index) return NotMine{"a dim without an index"};
    given.push_back(*index);
  }
  return changed(
      self, in_place, values->numel(), [&](const Tensor& out) { return index_put(out, given, values, accumulate); },
      MemoryFormat::preserve);
}

Outcome<Tensor> take(const Tensor& self, const Tensor& given) {
  if (given->dtype() != DType::i64) return NotMine{"an index of another dtype than int64"};
  if (!self->numel()) return NotMine{"empty tensors"};
  const Tensor index = contiguous(given), flat = view(*contiguous(self), Dims{self->numel()}),
               indices = view(*index, Dims{index->numel()});
  const Tensor found = unlocked(index->numel(), [&] { return gather(*flat, 0, *indices); });
  if (!found) return NotMine{"an index out of bounds, conjugate or negative bits, or elements of 16 bytes"};
  return view(*found, index->sizes());
}

Outcome<std::tuple<Tensor, Tensor, Tensor, Tensor>> embedding_bags(const Tensor& table, const Tensor& given_indices,
    const Tensor& given_offsets, const OptionalTensor& per_sample_weights, int64_t mode, bool closed, int64_t padding) {
  const DType t = table->dtype();
  if (t != DType::f32 && t != DType::f64) return NotMine{"dtypes other than float32 and float64"};
  if (table->dim() != 2 || (per_sample_weights && (*per_sample_weights)->dtype() != t))
    return NotMine{"a table of other than two dims, or weights of another dtype"};
  const auto whole = [](const Tensor& x) {
    return x->dtype() == DType::i64 ? contiguous(x) : contiguous(to_dtype(x, DType::i64));
  };
  const Tensor weight = contiguous(table), indices = whole(given_indices), offsets = whole(given_offsets),
               samples = per_sample_weights ? contiguous(*per_sample_weights) : Tensor{};
  Bags found;
  const bool done = unlocked(indices->numel() * weight->sizes()[1],
      [&] { return bags_of_rows(weight, indices, offsets, samples, int(mode), closed, padding, &found); });
  if (!done) return NotMine{"no bags, or an index or an offset out of bounds"};
  return std::tuple(found.out, found.bag_of, found.counts, found.most);
}

}  // namespace shim
