#include "ops/array_rules.h"

#include "core/sparse.h"

namespace shim {

bool of_ml_dtypes(DType t) {
  return t == DType::bf16 || (is_floating(t) && itemsize(t) == 1 && t != DType::f4e2m1fn_x2);
}

char array_kind(DType t) {
  if (of_ml_dtypes(t) || !itemsize(t)) return 0;
  if (is_complex(t) || is_floating(t)) return is_complex(t) ? 'c' : 'f';
  return t == DType::b8 ? 'b' : !is_integral(t) ? 0 : is_signed(t) ? 'i' : 'u';
}

DType computed_in(DType t) {
  if (t == DType::c32) return DType::c64;
  return t == DType::f16 || (is_floating(t) && itemsize(t) == 1) || t == DType::bf16 ? DType::f32 : t;
}

char kind_of_number(DType t) { return t == DType::b8 ? 'b' : is_complex(t) ? 'c' : is_floating(t) ? 'f' : 'i'; }

void check_lends_array(const TensorImpl& t) {
  CHECK(Kind::Type, !is_sparse(t), "can't convert ",
      sparse_parts(t)->layout == Layout::sparse_coo ? "Sparse" : "SparseCsr",
      " layout tensor to numpy. Use Tensor.to_dense() first.");
  CHECK(Kind::Type, t.device().is_cpu(), "can't convert ", to_string(t.device()),
      " device type tensor to numpy. Use Tensor.cpu() to copy the tensor to host memory first.");
  CHECK(Kind::Runtime, has_data(t), "Cannot access data pointer of Tensor that doesn't have storage");
  CHECK(Kind::Runtime, !t.is_conj,
      "Can't call numpy() on Tensor that has conjugate bit set. Use tensor.resolve_conj().numpy() instead.");
  CHECK(Kind::Runtime, !t.is_neg,
      "Can't call numpy() on Tensor that has negative bit set. Use tensor.resolve_neg().numpy() instead.");
}

Dims strides_in_elements(IntArrayRef sizes, IntArrayRef bytes, DType t) {
  const auto size = int64_t(itemsize(t));
  Dims strides;
  for (size_t i = 0; i < sizes.size(); ++i) {
    CHECK(Kind::Value, bytes[i] >= 0 || sizes[i] < 2,
        "At least one stride in the given numpy array is negative, and tensors with negative strides are not "
        "currently supported. (You can probably work around this by making a copy of your array  with array.copy().) ");
    CHECK(Kind::Value, bytes[i] % size == 0,
        "given numpy array strides not a multiple of the element byte size. Copy the numpy array to reallocate the "
        "memory.");
    strides.push_back(bytes[i] < 0 ? 1 : bytes[i] / size);
  }
  return strides;
}

}  // namespace shim
