// The views of core/views.cpp, and empty tensors, as functions of shim_torch._impl.native._core. They record no history.
#include "autograd/attributes.h"
#include "core/math_bits.h"
#include "cpu/indexing.h"
#include "python/module_parameters.h"
#include "python/schema_function.h"

namespace shim {
namespace {

using Base = const TensorImpl&;
using Sizes = const Dims&;

Dims dims_in(PyObject* o) {
  Dims d;
  if (!dims_of(o, &d)) throw PythonError();
  return d;
}

Tensor as_strided_(Base t, Sizes sizes, Sizes strides, std::optional<int64_t> offset) {
  return as_strided(t, sizes, strides, offset ? *offset : t.storage_offset());
}

bool can_view(Base t, Sizes shape) {  // whether view() would work
  Dims out;
  const Dims sizes = infer_size(shape, t.numel());
  return t.is_contiguous() || try_view_strides(t.sizes(), t.strides(), sizes, out);
}

Dims dense_strides_(Base t) {  // of an operator's result over this one tensor
  const Dims strides(t.strides().begin(), t.strides().end());
  return dense_strides(t.sizes(), {&strides, 1});
}

Dims indexed_strides_(Sizes sizes, Sizes kept, int64_t first, TensorList indices) {
  return indexed_strides(sizes, kept, first, {indices.begin(), indices.end()});
}

Device resolved(std::optional<PyObject*> o) {
  Device d = o ? device_of(*o) : Device{};
  if (d.is_cpu()) d.index = -1;  // PyTorch prints cpu tensors' device without an index
  return d;
}

using Given = std::optional<PyObject*>;
using Flag = std::optional<bool>;

Tensor empty_tensor(Sizes size, Given dtype, Given device, Flag pin, std::optional<MemoryFormat> format) {
  const bool keeps = format == MemoryFormat::preserve;  // strides of nothing
  return empty(size, dtype ? dtype_of(*dtype) : default_dtype(), resolved(device), pin.value_or(false),
      keeps ? MemoryFormat::contiguous : format.value_or(MemoryFormat::contiguous));
}

Tensor empty_strided_(Sizes size, Sizes strides, Given dtype, Given device, Flag pin) {
  return empty_strided(
      size, strides, dtype ? dtype_of(*dtype) : default_dtype(), resolved(device), pin.value_or(false));
}

Dims broadcast_(PyObject* shapes) {
  const OwnedRef all = owned(PySequence_Fast(shapes, "broadcast_shapes: expected a sequence of shapes"));
  Dims out;
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(all.o); ++i) {
    const Dims d = dims_in(PySequence_Fast_GET_ITEM(all.o, i));
    out = i ? broadcast_shapes(out, d) : d;
  }
  return out;
}

// Each Python object gets the other's tensor.
void swap_tensors_(TensorImpl& a, TensorImpl& b) {
  auto *x = static_cast<PyTensor*>(a.pyobj), *y = static_cast<PyTensor*>(b.pyobj);
  std::swap(x->impl, y->impl);
  std::swap(a.pyobj, b.pyobj);
}

const ModulePart views_functions{{function<&swap_tensors_>("_swap_tensor_impl"),
    function<[](Base t, std::optional<PyObject*> dims) { return dims ? squeeze(t, dims_in(*dims)) : squeeze(t); }>(
        "squeeze"),
    function<[](Base t) { return int64_t(t.use_count()); }>("tensor_use_count"),
    function<&dense_strides_>("dense_strides"), function<&indexed_strides_>("indexed_strides"),
    function<[](Base t) { return suggest_memory_format(t); }>("suggest_memory_format"),
    function<[](Base t, Sizes s) { return view(t, s); }>("view"),
    function<[](Base t, Sizes s) { return permute(t, s); }>("permute"),
    function<[](Base t, Sizes s) { return expand(t, s); }>("expand"), function<&as_strided_>("as_strided"),
    function<[](Base t, int64_t a, int64_t b) { return transpose(t, a, b); }>("transpose"),
    function<[](Base t, int64_t d) { return unsqueeze(t, d); }>("unsqueeze"),
    function<[](Base t, int64_t d, int64_t i) { return select(t, d, i); }>("select"),
    function<[](Base t, int64_t d, int64_t from, int64_t to, int64_t by) { return slice(t, d, from, to, by); }>(
        "slice"),
    function<[](Base t, int64_t d, int64_t from, int64_t n) { return narrow(t, d, from, n); }>("narrow"),
    function<[](Base t, int64_t d, int64_t n, int64_t by) { return unfold(t, d, n, by); }>("unfold"),
    function<[](Base t, int64_t n, int64_t a, int64_t b) { return diagonal(t, n, a, b); }>("diagonal"),
    function<[](Base t, PyObject* dtype) { return view_dtype(t, dtype_of(dtype)); }>("view_dtype"),
    function<&can_view>("can_view"), function<[](Base t) { return alias(t); }>("alias"),
    function<[](Base t) { return view_as_real(t); }>("view_as_real"),
    function<[](Base t) { return view_as_complex(t); }>("view_as_complex"),
    function<[](Base t) { return conj_view(t); }>("conj_view"),
    function<[](Base t) { return neg_view(t); }>("neg_view"),
    function<[](TensorImpl& t, bool on) { set_conj(t, on); }>("_set_conj"),
    function<[](TensorImpl& t, bool on) { set_neg(t, on); }>("_set_neg"),
    function<&empty_tensor, "size dtype device pin_memory memory_format">("empty_tensor"),
    function<&empty_strided_, "size stride dtype device pin_memory">("empty_strided"),
    function<&broadcast_>("broadcast_shapes"),
    function<[](Sizes shape, int64_t numel) { return infer_size(shape, numel); }>("infer_size"),
    function<[](Sizes shape) { return contiguous_strides(shape); }>("contiguous_strides"),
    function<[](TensorImpl& t) { t.bump_version(); }>("bump_version"), function<&set_version>("set_version"),
    schema_function<[](bool on) { return std::exchange(view_replay(), on); }, "set_view_replay_enabled(bool enabled)">(
        nullptr, "_set_view_replay_enabled"),
    function<[] { return bool(view_replay()); }>("_is_view_replay_enabled"),
    function<[](PyObject* type) { out_of_memory_type = Py_NewRef(type); }>("set_out_of_memory_type"),
    function<[](PyObject* type) { ParameterType = Py_NewRef(type); }>("set_parameter_type")}};

}  // namespace

}  // namespace shim
