#pragma once
// Composites of views where no history is kept of them: pieces along a dim, and other sizes for the same elements. Each result is a view of
// self (AutogradMeta::base); what PyTorch refuses is left to the operators' bodies.
#include "ops/kernel.h"

namespace shim {

Outcome<std::vector<Tensor>> split(const Tensor& self, int64_t split_size, int64_t dim);
Outcome<std::vector<Tensor>> split_with_sizes(const Tensor& self, IntArrayRef split_sizes, int64_t dim);
Outcome<std::vector<Tensor>> chunk(const Tensor& self, int64_t chunks, int64_t dim);
Outcome<std::vector<Tensor>> unbind(const Tensor& self, int64_t dim);
Outcome<Tensor> narrow_view(const Tensor& self, int64_t dim, int64_t start, int64_t length);
Outcome<Tensor> reshape(const Tensor& self, IntArrayRef shape);  // where it is a view
// Of a contiguous tensor; itself where there is nothing to join.
Outcome<Tensor> flatten(const Tensor& self, int64_t start_dim, int64_t end_dim);

}  // namespace shim
