#pragma once
// Sparse tensors. They have sizes, a dtype and a device like any other, but no memory of their own: their storage has no
// data and its context holds the parts, so that a dense tensor carries and checks nothing more for their sake.
#include "core/tensor.h"

namespace shim {

enum class Layout : int8_t {
  strided = 0,
  sparse_coo = 1,
  sparse_csr = 2,
  sparse_csc = 4,
  sparse_bsr = 5,
  sparse_bsc = 6
};

struct SparseParts {
  Layout layout = Layout::sparse_coo;
  Tensor indices;        // (sparse_dim, nnz) int64; of compressed layouts the compressed indices
  Tensor plain_indices;  // of compressed layouts only
  Tensor values;         // (nnz, ...) without history
  int sparse_dim = 0, dense_dim = 0;
  bool coalesced = false;
};

// The tensor of these parts; takes dtype and device of the values. Geometry is not checked.
Tensor sparse_tensor(IntArrayRef sizes, SparseParts parts);
// `self` becomes what `other` is (sizes and parts), counting on its own writes.
void replace_sparse(TensorImpl& self, const TensorImpl& other);

void drop_sparse_parts(void* context, void*);

inline SparseParts* sparse_parts(const TensorImpl& t) noexcept {  // null: it is strided
  const Storage& s = *t.storage();
  return s.deleter() == drop_sparse_parts ? static_cast<SparseParts*>(s.context()) : nullptr;
}
inline bool is_sparse(const TensorImpl& t) noexcept { return sparse_parts(t) != nullptr; }

}  // namespace shim
