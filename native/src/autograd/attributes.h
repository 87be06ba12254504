#pragma once
// What a tensor's attributes about gradients do when they are asked for and assigned to, with PyTorch's errors.
#include "autograd/autograd.h"

namespace shim {

inline bool can_have_grad(const TensorImpl& t) { return is_floating(t.dtype()) || is_complex(t.dtype()); }
// `refusal`: the error's text for a dtype that can have no gradient.
void set_requires_grad(TensorImpl&, bool on, const char* refusal);
bool is_leaf(TensorImpl&);
void detach_(TensorImpl&);  // RuntimeError of a view
void set_grad(TensorImpl&, const Tensor& grad);
void set_data(TensorImpl&, const TensorImpl& from);
// The tensor gets the geometry of a view of itself, and its place in the graph.
const Tensor& take_view(const Tensor& self, const Tensor& view);
void set_version(TensorImpl&, int64_t);
// Tensor.set_: the storage grows where they reach beyond it; all that can be wrong is found before anything is changed.
void set_memory(TensorImpl&, const Ref<Storage>&, IntArrayRef sizes, IntArrayRef strides, int64_t offset);
// Tensor.resize_: without a format, strides stay as they are where the sizes do.
void resize_memory(TensorImpl&, IntArrayRef sizes, std::optional<MemoryFormat>);
// The base of `self`, seen from memory that a view like it lies in: as PyTorch's inverses that are views do, it takes the base's
// sizes, strides and offset. A view of other bits (view(dtype)) has none, and a view that as_strided alone can make again has
// one only while view_replay(). Null where self is no view.
Tensor reversed_view(const TensorImpl& self, const Tensor& view);
bool& view_replay();  // of this thread

}  // namespace shim
