// torch._C's functions about __torch_dispatch__: the stack of modes, switches, rules.
#include "autograd/autograd.h"
#include "python/owned_ref.h"
#include "autograd/formula_plan.h"
#include "python/mode_stack.h"
#include "python/torch_dispatch_state.h"

namespace shim {

using namespace torch_dispatch;

namespace {

constexpr char kDispatchModes[] = "torch dispatch";
void count_modes(int by) {
  modes_on += size_t(by);
  refresh();
}
using DispatchModes = ModeStack<&modes, &count_modes, kDispatchModes>;

bool set_disabled(Truth on) { return std::exchange(handlers_disabled, on); }
bool set_below(Truth on) { return std::exchange(below_handler, on); }

PyObject* disabled_dispatch(PyObject*, PyObject* args) { return call_without(handlers_disabled, args); }

// (qualified, overload, leaf, parts or None): how PyTorch's operator of that name stands to ours.
bool mark(std::string_view qualified, std::string_view overload, Truth leaf, PyObject* parts) {
  Operator* op = find_operator(std::string(qualified), std::string(overload));
  if (!op) return false;
  op->dispatch_leaf = leaf;
  if (parts != Py_None) python_of(*op).dispatch_parts = Py_NewRef(parts);
  return true;
}

// (qualified, overload, {inputs: formula}, results): the gradients that handlers are shown, of so many results (-1: all).
bool show(std::string_view qualified, std::string_view overload, PyObject* formulas, int outputs) {
  Operator* op = find_operator(std::string(qualified), std::string(overload));
  if (op) show_formulas(*op, formulas_of(formulas), outputs);
  return op;
}

PyObject* rules_of_library() {
  if (!rules) rules = PyDict_New();
  return Py_XNewRef(rules);
}

PyMethodDef torch_dispatch_functions[] = {
    {"_disabled_torch_dispatch_impl", disabled_dispatch, METH_VARARGS, "Runs func without __torch_dispatch__."},
    function<&DispatchModes::push>("_push_on_torch_dispatch_stack"),
    function<&DispatchModes::pop>("_pop_torch_dispatch_stack"),
    function<&DispatchModes::size>("_len_torch_dispatch_stack"), function<&DispatchModes::at>("_get_dispatch_stack_at"),
    function<&set_disabled>("_set_torch_dispatch_disabled", "Turns handlers off on this thread; gives the old state."),
    function<&set_below>(
        "_set_below_dispatch", "Whether gradients are recorded within a handler; gives the old state."),
    function<&mark>("_mark_for_dispatch"), function<&show>("_show_formulas"),
    function<&rules_of_library>("_torch_dispatch_rules", "{operator: {class: function}} that handlers give way to."),
    {}};

}  // namespace

int bind_torch_dispatch(PyObject* module) {
  if (PyModule_AddFunctions(module, torch_dispatch_functions) < 0) return -1;
  PyObject* none = protocol.disabled = PyObject_GetAttrString(module, "_disabled_torch_dispatch_impl");
  if (!none || PyDict_SetItem(TensorBaseType->tp_dict, protocol.attribute, none) < 0) return -1;
  PyType_Modified(TensorBaseType);
  return 0;
}

}  // namespace shim
