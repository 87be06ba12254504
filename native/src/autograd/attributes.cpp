#include "autograd/attributes.h"

#include <algorithm>

#include "core/extent.h"
#include "core/sparse.h"

namespace shim {

namespace {

std::string cpp_name(DType t) {  // what C++ calls it, as PyTorch's text does
  switch (t) {
    case DType::f32: return "float";
    case DType::f64: return "double";
    case DType::i64: return "long int";
    case DType::i32: return "int";
    default: return scalar_name(t);
  }
}

}  // namespace

void set_requires_grad(TensorImpl& t, bool on, const char* refusal) {
  AutogradMeta* m = t.autograd();
  bool leaf = !m || !m->grad_fn;
  if (leaf && m && m->base) {
    t.requires_grad();
    leaf = !m->grad_fn;
  }
  CHECK(Kind::Runtime, leaf || on,
      "you can only change requires_grad flags of leaf variables. If you want to use a computed variable in a "
      "subgraph that doesn't require "
      "differentiation use var_no_grad = var.detach().");
  CHECK(Kind::Runtime, !on || can_have_grad(t), refusal);
  CHECK(Kind::Runtime, !on || !t.is_inference || InferenceMode::enabled(),
      "Setting requires_grad=True on inference tensor outside InferenceMode is not allowed.");
  if (leaf && (on || m)) t.ensure_autograd().requires_grad = on;
}

bool is_leaf(TensorImpl& t) {
  if (!t.requires_grad()) return true;
  refresh_view(t);
  return !t.autograd()->grad_fn;
}

void set_grad(TensorImpl& t, const Tensor& g) {
  CHECK(Kind::Runtime, g.get() != &t, "can't assign Variable as its own grad");
  CHECK(Kind::Runtime, g->dtype() == t.dtype(), "attempting to assign a gradient with dtype '", cpp_name(g->dtype()),
      "' to a tensor with grad_dtype '", scalar_name(t.dtype()),
      "'. The gradient must match the tensor's grad_dtype (defaults to the tensor's dtype). You can set the tensor's "
      "grad_dtype attribute with a specific dtype, or None to allow "
      "any dtype. Set grad_dtype with caution. Diverging the dtypes of a tensor and its gradient may break "
      "downstream systems that assume they match.");
  CHECK(Kind::Runtime, g->device() == t.device(), "attempting to assign a gradient located on device with type ",
      to_string(g->device()), " to a tensor with device type ", to_string(t.device()),
      ". Please ensure that the gradient and the tensor are on the same device");
  CHECK(Kind::Runtime, std::equal(g->sizes().begin(), g->sizes().end(), t.sizes().begin(), t.sizes().end()),
      "attempting to assign a gradient of size '", bracketed(g->sizes()), "' to a tensor of size '",
      bracketed(t.sizes()), "'. Please ensure that the gradient and the tensor are the same size");
  t.ensure_autograd().grad = g;
}

void set_data(TensorImpl& t, const TensorImpl& from) {
  CHECK(Kind::Runtime, is_sparse(t) == is_sparse(from),
      "Attempted to call `variable.set_data(tensor)`, but `variable` and `tensor` have incompatible tensor type.");
  CHECK(Kind::Runtime, !t.requires_grad() || can_have_grad(from),
      "data set to a tensor that requires gradients must be floating point or complex dtype");
  t.keep_version();
  t.set_storage(from.storage());
  t.set_dtype(from.dtype());
  t.is_conj = from.is_conj;
  t.is_neg = from.is_neg;
  t.set_geometry(from.sizes(), from.strides(), from.storage_offset());
  AutogradMeta* m = t.autograd();
  if (const Ref<Node> node = m ? accumulator_of(*m) : Ref<Node>(); node && !node->inputs.empty()) {
    node->inputs.clear();
    node->add_input(t);
  }
}

void set_version(TensorImpl& t, int64_t version) {
  CHECK(Kind::Runtime, version >= 0, "Cannot set a version_counter to a value below 0: ", version);
  if (t.own_version())
    t.own_version()->store(uint32_t(version));
  else
    t.storage()->version().store(uint32_t(version));
}

bool& view_replay() {
  static thread_local bool on = false;
  return on;
}

Tensor reversed_view(const TensorImpl& t, const Tensor& view) {
  AutogradMeta* m = t.autograd();
  if (!m || !m->base) return {};
  const EngineOps& ops = engine_ops();
  const TensorImpl& base = *m->base;
  const bool parts = is_complex(base.dtype()) && !is_complex(t.dtype()),
             pairs = !is_complex(base.dtype()) && is_complex(t.dtype());
  const bool plain = !parts && !pairs && t.is_conj == base.is_conj && t.is_neg == base.is_neg;
  CHECK(Kind::Runtime, parts || pairs || (t.dtype() == base.dtype() && (view_replay() || !plain)),
      "No _rev_view_func() found");
  Dims sizes(base.sizes().begin(), base.sizes().end()), strides(base.strides().begin(), base.strides().end());
  Tensor r = view;
  if (t.is_neg != base.is_neg) r = ops.view_operator(r, "_neg_view");
  if (parts) {  // from the numbers of view_as_real
    for (int64_t& s : strides) s *= 2;
    sizes.push_back(2), strides.push_back(1);
    r = ops.view_operator(ops.as_strided(r, sizes, strides, base.storage_offset() * 2), "view_as_complex");
    return base.is_conj ? ops.view_operator(r, "_conj") : r;
  }
  if (t.is_conj != base.is_conj) r = ops.view_operator(r, "_conj");
  if (pairs) r = ops.view_operator(r, "view_as_real");
  const bool same = std::ranges::equal(r->sizes(), sizes) && std::ranges::equal(r->strides(), strides) &&
                    r->storage_offset() == base.storage_offset();
  return same && r.get() != view.get() ? r : ops.as_strided(r, sizes, strides, base.storage_offset());
}

void set_memory(TensorImpl& t, const Ref<Storage>& storage, IntArrayRef sizes, IntArrayRef strides, int64_t offset) {
  CHECK(Kind::Runtime, sizes.size() == strides.size(), "unequal size length (", sizes.size(), ") and stride length (",
      strides.size(), ")");
  const int64_t numel = product(sizes);
  for (int64_t s : strides)
    CHECK(Kind::Runtime, s >= 0 || numel == 0, "Storage size calculation overflowed with sizes=", bracketed(sizes),
        " and strides=", bracketed(strides));
  const size_t need = extent_bytes(sizes, strides, offset, t.itemsize());
  const bool same =
      offset == t.storage_offset() && std::ranges::equal(sizes, t.sizes()) && std::ranges::equal(strides, t.strides());
  if (same)  // PyTorch grows the storage for another geometry only
    check_within(*storage, sizes, strides, offset, t.itemsize());
  if (need > storage->nbytes()) storage->resize(need);
  // The tensor goes on counting its own writes: those of the new storage's other tensors are not its.
  t.keep_version();
  t.set_storage(storage);
  t.set_geometry(sizes, strides, offset);
  t.bump_version();
  if (AutogradMeta* m = t.autograd()) set_accumulator(*m, nullptr);  // gradients of what it was don't fit it any more
}

void resize_memory(TensorImpl& t, IntArrayRef sizes, std::optional<MemoryFormat> format) {
  CHECK(Kind::Runtime, !t.requires_grad() || InferenceMode::enabled(), "cannot resize variables that require grad");
  CHECK(Kind::Runtime, format != MemoryFormat::preserve, "Unsupported memory formatPreserve");
  const bool same = std::ranges::equal(sizes, t.sizes());
  if (same && !format) return;
  for (int64_t n : sizes) CHECK(Kind::Runtime, n >= 0, "Trying to create tensor with negative dimension ", n);
  const Dims strides = format.value_or(MemoryFormat::contiguous) == MemoryFormat::contiguous
                           ? contiguous_strides(sizes)
                           : channels_last_strides(sizes);
  const size_t need = extent_bytes(sizes, strides, t.storage_offset(), t.itemsize());
  if (need > t.storage()->nbytes()) t.storage()->resize(need);
  if (!same) t.bump_version();
  t.set_geometry(sizes, strides, t.storage_offset());
}

void detach_(TensorImpl& t) {
  AutogradMeta* m = t.autograd();
  if (!m || InferenceMode::enabled()) return;  // what autograd's kernel does, which is left out there
  CHECK(Kind::Runtime, !m->base,
      "Can't detach views in-place. Use detach() instead. If you are using DistributedDataParallel (DDP) for training, "
      "and gradient_as_bucket_view is set as True, gradients are views of DDP buckets, and hence detach_() cannot be "
      "called on these gradients. To fix this error, please refer to the Optimizer.zero_grad() function in "
      "torch/optim/optimizer.py as the solution.");
  m->grad_fn.reset();
  m->requires_grad = false;
  m->tangent.reset();
}

const Tensor& take_view(const Tensor& self, const Tensor& view) {
  if (self->requires_grad() || self->is_inference) check_inplace(self);
  self->set_geometry(view->sizes(), view->strides(), view->storage_offset());
  self->bump_version();
  AutogradMeta* made = view->autograd();
  if (AutogradMeta* mine = self->autograd(); mine && made && made->grad_fn) {
    mine->grad_fn = made->grad_fn;
    mine->output_nr = made->output_nr;
    mine->view_version = self->version();
  }
  return self;
}

}  // namespace shim
