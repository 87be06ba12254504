#pragma once
// Kernels of the operators that write at places that a tensor names, and of take and bags of embeddings. `in_place`: to self, which is the
// result; else to a copy.
#include "cpu/scatter.h"
#include "ops/kernel.h"

namespace shim {

Outcome<Tensor> scattered(
    const Tensor& self, int64_t dim, const Tensor& index, const Tensor& src, Scatter how, bool in_place);
Outcome<Tensor> reduced_by_scatter(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& src,
    std::string_view reduce, bool include_self, bool in_place);
Outcome<Tensor> scattered_value(const Tensor& self, int64_t dim, const Tensor& index, Scalar value, bool in_place);
Outcome<Tensor> index_added(
    const Tensor& self, int64_t dim, const Tensor& index, const Tensor& source, Scalar alpha, bool in_place);
Outcome<Tensor> index_copied(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& source, bool in_place);
Outcome<Tensor> index_filled(const Tensor& self, int64_t dim, const Tensor& index, Scalar value, bool in_place);
// Over the leading dims of self.
Outcome<Tensor> index_put_at(
    const Tensor& self, OptionalTensorList indices, const Tensor& values, bool accumulate, bool in_place);
Outcome<Tensor> take(const Tensor& self, const Tensor& index);
// What `Bags` holds, of float32 and float64.
Outcome<std::tuple<Tensor, Tensor, Tensor, Tensor>> embedding_bags(const Tensor& weight, const Tensor& indices,
    const Tensor& offsets, const OptionalTensor& per_sample_weights, int64_t mode, bool closed, int64_t padding);

}  // namespace shim
