// Views that operators give are tied to their bases (autograd: mark_view).
#include "core/sparse.h"
#include "python/dispatch.h"
#include "python/owned_ref.h"
#include "python/torch_dispatch.h"

namespace shim {
namespace {

// The call that made a view of a wrapper, for another base.
class CallReplay final : public ViewReplay {
 public:
  CallReplay(Operator& op, PyObject* const* args, size_t n) : op_(op) {
    for (size_t i = 0; i < n; ++i) args_.emplace_back(i ? Py_NewRef(args[i]) : nullptr);
  }
  ~CallReplay() override {
    if (!python_lives()) return;
    GilAcquire gil;
    for (PyObject* a : args_) Py_XDECREF(a);
  }
  void traverse(Visitor& v) const override {
    for (PyObject* a : args_) v.python(a);
  }
  Tensor apply(const Tensor& base) override {
    OwnedRef self{wrap(base)};
    std::vector<PyObject*> given(args_);
    given[0] = self.o;
    OwnedRef r{nullptr};
    if (GradMode::enabled()) {
      r.o = run_recorded(op_, given.data(), given.size());
    } else {
      r.o = run_functional(op_, given.data(), given.size());
    }
    if (!r.o) throw PythonError();
    CHECK(Kind::Runtime, is_tensor(r.o), op_.schema.qualified(), ": __torch_dispatch__ of a view returned no tensor");
    return Tensor(unwrap(r.o));
  }

 private:
  Operator& op_;
  std::vector<PyObject*> args_;
};

}  // namespace

void mark_views(Operator& op, PyObject* const* args, size_t n, PyObject* result, bool several) {
  PyObject* base = args[0];
  if (result == base) return;
  if (is_tensor(result)) {
    if (__builtin_expect(python_dispatch, 0)) count_together(*unwrap(base), *unwrap(result));
    const Tensor view(unwrap(result)), source(unwrap(base));
    if (is_sparse(*source) && op.formulas.empty())
      return;  // indices: PyTorch's views that are not differentiable have no base
    if (__builtin_expect(python_dispatch, 0) && !has_data(*source) && !has_data(*view) && !is_sparse(*source))
      mark_replayed_view(view, source, several, Ref<ViewReplay>(new CallReplay(op, args, n)));
    else
      mark_view(view, source, several);
  } else if (PyTuple_Check(result) || PyList_Check(result)) {
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(result); ++i)
      mark_views(op, args, n, PySequence_Fast_GET_ITEM(result, i), true);
  }
}

}  // namespace shim
