#pragma once
// Operators that write to the places of an index on CUDA.
#include "ops/kernel.h"

namespace shim::cuda {

// Where an operator writes: to self (index_add_), or to a copy of it (index_add).
enum class Target : uint8_t { self, copy };
inline constexpr Target kSelf = Target::self, kCopy = Target::copy;
inline Tensor written(Registered<Target> target, const Tensor& self, MemoryFormat format = MemoryFormat::contiguous) {
  return *target == Target::self ? self : clone(self, format);
}

Outcome<Tensor> scatter(Registered<Target>, const Tensor& self, int64_t dim, const Tensor& index, const Tensor& src);
Outcome<Tensor> scatter_value(Registered<Target>, const Tensor& self, int64_t dim, const Tensor& index, Scalar value);
Outcome<Tensor> scatter_add(
    Registered<Target>, const Tensor& self, int64_t dim, const Tensor& index, const Tensor& src);
Outcome<Tensor> scatter_reduce(Registered<Target>, const Tensor& self, int64_t dim, const Tensor& index,
    const Tensor& src, std::string_view reduce, bool include_self);
Outcome<Tensor> index_add(
    Registered<Target>, const Tensor& self, int64_t dim, const Tensor& index, const Tensor& source, Scalar alpha);
Outcome<Tensor> index_copy(
    Registered<Target>, const Tensor& self, int64_t dim, const Tensor& index, const Tensor& source);
Outcome<Tensor> index_fill(
    Registered<Target>, const Tensor& self, int64_t dim, const Tensor& index, const TensorOrScalar& value);
Outcome<Tensor> index_reduce(Registered<Target>, const Tensor& self, int64_t dim, const Tensor& index,
    const Tensor& source, std::string_view reduce, bool include_self);
// self[i, j, ...] = or, with `adds`, += values: indices for the leading dims.
Outcome<Tensor> index_put(
    Registered<Target>, const Tensor& self, OptionalTensorList indices, const Tensor& values, bool adds);
Outcome<Tensor> masked_scatter(Registered<Target>, const Tensor& self, const Tensor& mask, const Tensor& source);
// The values at `order` of each run of equal sorted keys added to self[key], in that order; keys of `skip` are left out.
Outcome<Tensor> add_runs(Registered<Target>, const Tensor& self, const Tensor& keys, const Tensor& order,
    const Tensor& values, int64_t skip);

// out[..., index, ...] = or += src. `index` and `src` have as many dims as out; src's sizes are at least index's, or it is 0-d.
// `wraps`: negative indices count from the end (not where it adds). Gives out.
Outcome<Tensor> scatter_into(
    const Tensor& out, int64_t dim, const Tensor& index, const Tensor& src, bool adds, bool wraps = false);
// A 1-d index along `dim` as a view of self's sizes, but for that dim.
Outcome<Tensor> spread(const Tensor& index, int64_t dim, const Tensor& self);
// `dim` counted from the front; nothing where self has no such dim.
std::optional<int64_t> dim_from_front(int64_t dim, const Tensor& self);
// Whether src has self's dtype, and self's sizes but for `dim`, where it has `count`.
bool same_but(const Tensor& self, const Tensor& src, int64_t dim, int64_t count);

}  // namespace shim::cuda
