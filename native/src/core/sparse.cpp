#include "core/sparse.h"

namespace shim {

void drop_sparse_parts(void* context, void*) { delete static_cast<SparseParts*>(context); }

Tensor sparse_tensor(IntArrayRef sizes, SparseParts parts) {
  const DType dtype = parts.values->dtype();
  const Device device = parts.values->device();
  if (parts.layout == Layout::sparse_coo && parts.values->dim() > 0 && parts.values->sizes()[0] < 2)
    parts.coalesced = true;
  // One byte that is not there: whoever asks for the memory sees that it is missing.
  Ref<Storage> storage(new Storage(nullptr, 1, device, drop_sparse_parts, new SparseParts(std::move(parts))));
  storage->set_resizable(false);
  Tensor t(new TensorImpl(std::move(storage), dtype, sizes, Dims(sizes.size(), 0), 0));
  t->own_version() = std::make_shared<std::atomic<uint32_t>>(0);  // goes on where the parts are replaced
  return t;
}

void replace_sparse(TensorImpl& self, const TensorImpl& other) {
  self.set_storage(other.storage());
  self.set_dtype(other.dtype());
  self.set_geometry(other.sizes(), other.strides(), 0);
  self.bump_version();
}

}  // namespace shim
