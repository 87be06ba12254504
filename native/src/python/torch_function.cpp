// The __torch_function__ protocol: subclasses, foreign objects and modes.
#include <vector>

#include "autograd/autograd.h"
#include "core/sparse.h"
#include "python/dispatch.h"
#include "autograd/piecewise_constant.h"
#include "python/foreign.h"
#include "python/torch_function_state.h"

namespace shim {

namespace torch_function {

thread_local constinit bool subclasses_disabled = false;

std::vector<PyObject*>& modes() {
  static thread_local std::vector<PyObject*> stack;
  return stack;
}

Protocol protocol{"__torch_function__", modes};

}  // namespace torch_function

using namespace torch_function;

namespace {

bool plain_seen = false;
constexpr char kPlainMethod[] =
    "Defining your `__torch_function__` as a plain method is deprecated and will be an error in future, please define "
    "it as a classmethod.";

bool has_hook(PyObject* o) { return protocol.hook_of(Py_TYPE(o)).o != nullptr; }

}  // namespace

void torch_function::collect(PyObject* o, std::vector<PyObject*>& found) { collect_by_class(o, found, has_hook); }

std::string torch_function::text_of(PyObject* o, const char* attribute) {
  const OwnedRef v{PyObject_GetAttrString(o, attribute)};
  const char* text = v.o && PyUnicode_Check(v.o) ? PyUnicode_AsUTF8(v) : nullptr;
  PyErr_Clear();
  return text ? text : "";
}

// torch.add, torch.Tensor.add, torch.Tensor.shape.__get__
std::string torch_function::public_name(PyObject* callable) {
  std::string name = text_of(callable, "__name__"), module = text_of(callable, "__module__");
  if (module.starts_with("shim_torch")) module.erase(0, 5);
  if (name == "__get__" || name == "__set__") {
    const OwnedRef owner{PyObject_GetAttrString(callable, "__self__")};
    PyErr_Clear();
    return "torch.Tensor." + (owner.o ? text_of(owner, "__name__") : "") + "." + name;
  }
  bool method =
      text_of(callable, "__qualname__").starts_with("TensorBase.") || PyObject_HasAttrString(callable, "__objclass__");
  return (method ? "torch.Tensor" : module.empty() ? "torch" : module) + "." + name;
}

PyObject* torch_function::dispatch(
    PyObject* callable, const std::vector<PyObject*>& found, PyObject* args, PyObject* kwargs) {
  const OwnedRef types = classes_of(found);
  if (!types.o) return nullptr;
  return protocol.ask(
      torch_function_mode_active(), found, [&] { return public_name(callable); },
      [&](PyObject* o, bool mode) -> PyObject* {
        if (!mode && is_foreign_tensor(o))  // its handler would call ours again, without end
          return PyErr_Format(
              PyExc_TypeError, "%s: got a %s%s", public_name(callable).c_str(), Py_TYPE(o)->tp_name, foreign_note(o));
        const OwnedRef hook{PyObject_GetAttr(o, protocol.attribute)};
        const bool plain = !mode && hook.o && PyMethod_Check(hook.o) && PyMethod_GET_SELF(hook.o) == o;
        if (plain && (PyFunction_Check(callable) ? PyErr_WarnEx(PyExc_DeprecationWarning, kPlainMethod, level_outside())
                                                 : warn_once(&plain_seen, kPlainMethod)) < 0)
          return nullptr;
        PyObject* all[] = {nullptr, callable, types, args, kwargs};
        return hook.o ? PyObject_Vectorcall(hook, all + 1, 4 | PY_VECTORCALL_ARGUMENTS_OFFSET, nullptr) : nullptr;
      });
}

bool torch_function_enabled() { return !subclasses_disabled && !functions_disabled; }
bool torch_function_mode_active() { return !modes().empty() && !functions_disabled; }

bool has_torch_function(PyObject* o) { return torch_function_enabled() && has_hook(o); }

PyObject* call_torch_function(PyObject* callable, const CallArgs& c, Bound*) {
  std::vector<PyObject*> found;
  if (torch_function_enabled()) {
    for (size_t i = 0; i < c.nargs + c.nkw(); ++i) collect(c.args[i], found);
  }
  if (found.empty() && !torch_function_mode_active()) return nullptr;
  const OwnedRef args{tuple_of_lent(c.args, c.nargs)}, kwargs{dict_of_keywords(c.kwnames, c.args + c.nargs)};
  return args.o && kwargs.o ? dispatch(callable, found, args, kwargs) : nullptr;
}

}  // namespace shim
