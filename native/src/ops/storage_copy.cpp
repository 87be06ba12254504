#include "ops/storage_copy.h"

#include <cstring>

#include "core/error.h"
#include "core/lazy_clone.h"
#include "ops/kernels.h"

namespace shim {
namespace {

Tensor bytes_of(Storage& s) {
  check_memory(s, "call copy_()");
  const int64_t size = int64_t(s.nbytes()), stride = 1;
  return Tensor(new TensorImpl(Ref<Storage>(&s), DType::u8, {&size, 1}, {&stride, 1}, 0));
}

}  // namespace

void check_memory(const Storage& s, const char* wanted) {
  CHECK(Kind::Runtime, !without_memory(s) || s.device().is_meta(), "Attempted to ", wanted,
      " on an invalid python storage.");
}

Ref<Storage> copy_of(Storage& s, Device where) {
  Ref<Storage> to = allocate(s.nbytes(), where);
  if (s.nbytes()) copy_(bytes_of(*to), bytes_of(s));
  return to;
}

Ref<Storage> storage_on(Storage& s, Device where) { return s.device() == where ? Ref<Storage>(&s) : copy_of(s, where); }

void copy_bytes(Storage& to, Storage& from, bool non_blocking) {
  CHECK(Kind::Runtime, from.nbytes() == to.nbytes(), "size does not match, self was ", to.nbytes(),
      " bytes but src was ", from.nbytes(), " bytes");
  check_memory(to, "call copy_()");
  if (&from != &to && from.data() != to.data() && from.nbytes()) copy_(bytes_of(to), bytes_of(from), non_blocking);
}

void fill_bytes(Storage& s, int64_t start, int64_t stop, uint8_t value) {
  CHECK(Kind::NotImplemented, s.device().is_cpu(),
      "torch.UntypedStorage: assignment to bytes of a CUDA storage is not supported");
  CHECK(Kind::Runtime, !without_memory(s),
      "The tensor has a non-zero number of elements, but its data is not allocated yet.");
  own_data(s);
  if (start < stop) std::memset(static_cast<uint8_t*>(s.data()) + start, value, size_t(stop - start));
}

}  // namespace shim
