#include "dispatch/indexing.h"

#include "autograd/autograd.h"
#include "core/few.h"
#include "dispatch/call.h"
#include "ops/kernels.h"

namespace shim {

namespace {

struct ViewStep {  // of the view so far
  enum Kind : uint8_t { select, slice, unsqueeze } kind;
  int64_t dim, start, end, by;
};
using ViewSteps = Few<ViewStep, 8>;

// False where the items are wrong.
bool steps_of(const TensorImpl& t, std::span<const IndexItem> items, ViewSteps& steps) {
  int64_t used = 0, dots = 0;
  for (const IndexItem& i : items) {
    used += i.kind == IndexItem::integer || i.kind == IndexItem::slice;
    dots += i.kind == IndexItem::ellipsis;
  }
  if (used > t.dim() || dots > 1) return false;
  int64_t dim = 0, source = 0;  // in the view so far; in the tensor
  for (const IndexItem& i : items) {
    switch (i.kind) {
      case IndexItem::ellipsis:
        dim += t.dim() - used;
        source += t.dim() - used;
        break;
      case IndexItem::new_axis: steps.push_back({ViewStep::unsqueeze, dim++, 0, 0, 0}); break;
      case IndexItem::integer: {
        const int64_t size = t.sizes()[size_t(source++)];
        if (i.start < -size || i.start >= size) return false;
        steps.push_back({ViewStep::select, dim, i.start, 0, 0});
        break;
      }
      case IndexItem::slice:
        if (i.step <= 0) return false;
        if (i.start != 0 || i.end != kToTheEnd || i.step != 1)
          steps.push_back({ViewStep::slice, dim, i.start, i.end, i.step});
        ++dim;
        ++source;
    }
  }
  return true;
}

Tensor applied(const Tensor& t, const ViewStep& s) {
  if (s.kind == ViewStep::select) return select(*t, s.dim, s.start);
  if (s.kind == ViewStep::slice) return slice(*t, s.dim, s.start, s.end, s.by);
  return unsqueeze(*t, s.dim);
}

struct IndexOperators {  // looked up when first needed: the table is complete then
  Operator *select = find_operator("aten::select", "int"), *slice = find_operator("aten::slice", "Tensor"),
           *unsqueeze = find_operator("aten::unsqueeze", ""), *index = find_operator("aten::index", "Tensor"),
           *fill = find_operator("aten::fill_", "Scalar"), *copy = find_operator("aten::copy_", "");
};
const IndexOperators& operators() {
  static const IndexOperators found;
  return found;
}

Tensor applied_by_operator(const Tensor& t, const ViewStep& s) {
  const auto number = [](int64_t n) { return Value(Value::integer, n); };
  Value args[] = {tensor_value(t), number(s.dim), number(s.start), number(s.end), number(s.by)};
  if (s.kind == ViewStep::select) return call_for_tensor(*operators().select, args, 3);
  if (s.kind == ViewStep::slice) return call_for_tensor(*operators().slice, args, 5);
  return call_for_tensor(*operators().unsqueeze, args, 2);
}

// Whether it broadcasts to the view as it is. One in the same memory that has to be spread is not for here.
bool fits(const TensorImpl& value, const TensorImpl& view) {
  if (value.dim() > view.dim() || value.device() != view.device()) return false;
  if (value.storage() == view.storage() && value.numel() != view.numel()) return false;
  for (int i = 1; i <= value.dim(); ++i) {
    const int64_t n = value.sizes()[size_t(value.dim() - i)];
    if (n != 1 && n != view.sizes()[size_t(view.dim() - i)]) return false;
  }
  return true;
}

}  // namespace

Tensor index_view(const Tensor& t, std::span<const IndexItem> items) {
  ViewSteps steps;
  if (!steps_of(*t, items, steps)) return {};
  Tensor view = t;
  if ((GradMode::enabled() && t->requires_grad()) || forward_gradients() || python_dispatch) {
    if (!steps.size()) return {};
    for (const ViewStep& s : steps) view = applied_by_operator(view, s);
    return view;
  }
  for (const ViewStep& s : steps) view = applied(view, s);
  if (!steps.size()) view = alias(*t);
  if (!InferenceMode::enabled()) mark_view(view, t);
  return view;
}

Tensor index_by(const Tensor& t, const Tensor& indices) {
  if (t->dim() == 0 || indices->dim() == 0 || !t->device().is_cpu() || !indices->device().is_cpu()) return {};
  const bool mask = indices->dtype() == DType::b8;
  if (indices->dtype() != DType::i64 && (!mask || (GradMode::enabled() && t->requires_grad()))) return {};
  const Value item = tensor_value(indices);
  Value args[] = {tensor_value(t), {Value::list, 1, &item}};
  return call_for_tensor(*operators().index, args, 2);
}

bool assign(const Tensor& view, const Value& value) {
  if (value.is_tensor() && !fits(*value.t, *view)) return false;
  Value args[] = {tensor_value(view), value, {Value::boolean, 0}};
  value.is_tensor() ? call_for_tensor(*operators().copy, args, 3) : call_for_tensor(*operators().fill, args, 2);
  return true;
}

}  // namespace shim
