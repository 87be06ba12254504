// Views that operators give are tied to their bases (autograd: mark_view).
#include "autograd/attributes.h"
#include "dispatch/call.h"

namespace shim {

void count_together(TensorImpl& base, TensorImpl& view) {  // whatever was done to it within the handler
  if (base.own_version())
    view.own_version() = base.own_version();
  else if (view.storage() == base.storage())
    view.own_version().reset();
}

namespace {

// _force_original_view_tracking: a view of one result that is written to is made again by its operator.
bool is_tracked(const TensorImpl& source, bool several) {
  const AutogradMeta* m = source.autograd();
  return view_replay() && !several && !is_sparse(source) && (!m || !m->base || m->replay);
}

}  // namespace

void mark_views(Operator& op, const Value* args, size_t n, const Answer& result, bool several) {
  if (result.kind == Answer::tuple || result.kind == Answer::list)
    for (int64_t i = 0; i < result.i; ++i) mark_views(op, args, n, result.parts[i], true);
  if (result.kind != Answer::tensor && result.kind != Answer::argument) return;
  if (!result.t || result.t == args[0].t) return;
  const Tensor view(result.t), source(args[0].t);
  if (__builtin_expect(python_dispatch, 0)) count_together(*source, *view);
  if (is_sparse(*source) && op.formulas.empty())
    return;  // indices: PyTorch's views that are not differentiable have no base
  if ((__builtin_expect(python_dispatch, 0) && !has_data(*source) && !has_data(*view) && !is_sparse(*source)) ||
      __builtin_expect(is_tracked(*source, several), 0))
    mark_replayed_view(view, source, several, interpreter_calls.replay(op, args, n));
  else
    mark_view(view, source, several);
}

}  // namespace shim
