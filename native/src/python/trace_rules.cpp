#include "python/trace_rules.h"

#include <unordered_map>

#include "python/frames.h"
#include "python/operator.h"
#include "python/owned_ref.h"

namespace shim {

using namespace trace;

PyObject *deferral_rule = nullptr, *condition_rule = nullptr;

namespace {

// The package's own frames are no lines of the user.
bool own_frame(PyObject* frame) {
  const std::string package = package_of(frame);
  return package.starts_with("shim_torch") || package == "torch" || package.starts_with("torch.");
}

void user_line(std::string* file, int* line) {
  OwnedRef held = current_frame();
  while (held.o && own_frame(held)) held = frame_behind(held);
  if (!held.o) return;
  auto* frame = reinterpret_cast<PyFrameObject*>(held.o);
  PyCodeObject* code = PyFrame_GetCode(frame);
  const char* name = PyUnicode_AsUTF8(code->co_filename);
  *file = name ? name : "";
  *line = PyFrame_GetLineNumber(frame);
  Py_DECREF(code);
  if (PyErr_Occurred()) PyErr_Clear();
}

}  // namespace

// Asked once an operator.
const Rule& rule_by_record(Operator& op) {
  static auto* rules = new std::unordered_map<Operator*, Rule>;
  const auto [at, fresh] = rules->try_emplace(&op);
  if (!fresh) return at->second;
  Rule& rule = at->second;
  PyObject* record = python_of(op).record;
  if (op.out || !record || !op.recorded) return rule.library = true, rule.against = "an operator of a library", rule;
  OwnedRef answer = owned(PyObject_CallFunctionObjArgs(deferral_rule, record, nullptr));
  if (answer.o != Py_None) rule.against = utf8(answer.o);
  rule.draws = rule.against.starts_with("it draws");
  OwnedRef condition = owned(PyObject_CallFunctionObjArgs(condition_rule, record, nullptr));
  const std::string_view what = utf8(condition.o);
  rule.divides = what == "divides";
  rule.bounds = what == "bounds";
  if (rule.against.starts_with("the shape")) rule.shape = op.full_name() + ": " + rule.against;
  return rule;
}

Break who_asks(const char* reason) {
  Break b;
  user_line(&b.file, &b.line);
  b.reason = reason ? reason : "reads the values of a tensor";
  return b;
}

// torch._dynamo.config.capture_scalar_outputs, capture_dynamic_output_shape_ops.
bool no_break(Asks asks) {
  const OwnedRef modules = owned(PyObject_GetAttrString(owned(PyImport_ImportModule("sys")), "modules"));
  PyObject* config = PyDict_GetItemString(modules, "shim_torch._dynamo.config");
  if (!config) return false;
  const char* name = asks == Asks::shape ? "capture_dynamic_output_shape_ops" : "capture_scalar_outputs";
  return PyObject_IsTrue(owned(PyObject_GetAttrString(config, name))) == 1;
}

void failed_at(const TreeNode& node) {
  guarded([]() -> int { throw; });
#if PY_VERSION_HEX >= 0x030b0000
  {
    Pending raised;
    const std::string note =
        str("In a compiled function, by ", node.op->full_name(), " at ", node.file, ":", node.line);
    OwnedRef added{PyObject_CallMethod(raised.value(), "add_note", "s", note.c_str())};
    if (!added.o) PyErr_Clear();
  }
#endif
  throw PythonError();
}

}  // namespace shim
