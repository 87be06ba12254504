// Views of the same memory as elements of another dtype.
#include "core/extent.h"
#include "core/sparse.h"
#include "core/view_geometry.h"

namespace shim {

Tensor view_dtype(const TensorImpl& t, DType to) {
  CHECK(Kind::Runtime, !t.is_conj,
      "torch.Tensor.view is not supported for conjugate view tensors when converting to a different dtype.");
  CHECK(Kind::Runtime, !t.is_neg,
      "torch.Tensor.view is not supported for tensors with negative bit set when converting to a different dtype.");
  size_t from_size = t.itemsize(), to_size = itemsize(to);
  ViewGeometry g(t);
  int64_t offset = t.storage_offset();
  if (from_size != to_size) {
    CHECK(Kind::Runtime, t.dim() > 0, "self.dim() cannot be 0 to view ", scalar_name(t.dtype()), " as ",
        scalar_name(to), " (different element sizes)");
    CHECK(Kind::Runtime, g.strides.back() == 1, "self.stride(-1) must be 1 to view ", scalar_name(t.dtype()), " as ",
        scalar_name(to), " (different element sizes), but got ", g.strides.back());
    if (from_size > to_size) {
      int64_t ratio = int64_t(from_size / to_size);
      for (size_t i = 0; i + 1 < g.strides.size(); ++i) g.strides[i] *= ratio;
      g.sizes.back() *= ratio;
      offset *= ratio;
    } else {
      int64_t ratio = int64_t(to_size / from_size);
      CHECK(Kind::Runtime, g.sizes.back() % ratio == 0, "self.size(-1) must be divisible by ", ratio, " to view ",
          scalar_name(t.dtype()), " as ", scalar_name(to), " (different element sizes), but got ", g.sizes.back());
      CHECK(Kind::Runtime, offset % ratio == 0, "self.storage_offset() must be divisible by ", ratio, " to view ",
          scalar_name(t.dtype()), " as ", scalar_name(to), " (different element sizes), but got ", offset);
      for (size_t i = 0; i + 1 < g.strides.size(); ++i) {
        CHECK(Kind::Runtime, g.strides[i] % ratio == 0, "self.stride(", i, ") must be divisible by ", ratio,
            " to view ", scalar_name(t.dtype()), " as ", scalar_name(to), " (different element sizes), but got ",
            g.strides[i]);
        g.strides[i] /= ratio;
      }
      g.sizes.back() /= ratio;
      offset /= ratio;
    }
  }
  auto v = make_view(t, g.sizes, g.strides, offset);
  v->set_dtype(to);
  return v;
}

Tensor view_as_real(const TensorImpl& t) {
  CHECK(Kind::Runtime, is_complex(t.dtype()), "view_as_real is only supported for complex tensors");
  CHECK(Kind::Runtime, !t.is_conj,
      "view_as_real doesn't work on unresolved conjugated tensors.  To resolve the conjugate tensor so you can view it "
      "as real, use "
      "self.resolve_conj(); however, be warned that the resulting tensor will NOT alias the original.");
  ViewGeometry g(t);
  for (int64_t& s : g.strides) s *= 2;
  g.sizes.push_back(2);
  g.strides.push_back(1);
  auto v = make_view(t, g.sizes, g.strides, t.storage_offset() * 2);
  v->set_dtype(to_real(t.dtype()));
  return v;
}

Tensor view_as_complex(const TensorImpl& t) {
  DType f = t.dtype();
  CHECK(Kind::Runtime, f == DType::f16 || f == DType::f32 || f == DType::f64,
      "view_as_complex is only supported for half, float and double tensors, but got a tensor of scalar type: ",
      scalar_name(f));
  CHECK(Kind::Runtime, t.dim() > 0, "Input tensor must have one or more dimensions");
  ViewGeometry g(t);
  CHECK(Kind::Runtime, g.sizes.back() == 2, "Tensor must have a last dimension of size 2");
  CHECK(Kind::Runtime, g.strides.back() == 1, "Tensor must have a last dimension with stride 1");
  g.sizes.pop_back();
  g.strides.pop_back();
  for (int64_t& s : g.strides) {
    CHECK(Kind::Runtime, s % 2 == 0, "Tensor must have a stride divisible by 2 for all but last dimension");
    s /= 2;
  }
  CHECK(Kind::Runtime, t.storage_offset() % 2 == 0, "Tensor must have a storage_offset divisible by 2");
  auto v = make_view(t, g.sizes, g.strides, t.storage_offset() / 2);
  v->set_dtype(to_complex(f));
  return v;
}

}  // namespace shim
