// Recorded operators and their programs, as functions of shim_torch._impl.native._core.
#include "python/dispatch.h"
#include "python/module_parameters.h"
#include "python/owned_ref.h"
#include "program/replay.h"
#include "python/program_values.h"

namespace shim {

using namespace program;

template <> constexpr const char* module_call::capsule_name<Recorder> = "shim_torch.Recorder";
template <> constexpr const char* module_call::capsule_name<Program> = "shim_torch.Program";
template <> constexpr const char* module_call::capsule_name<Replay> = "shim_torch.Replay";

namespace {

template <class T> T& held(PyObject* o) {
  return *static_cast<T*>(PyCapsule_GetPointer(o, module_call::capsule_name<T>));
}

template <class T> PyObject* capsule(Ref<T> counted) {
  return PyCapsule_New(counted.detach(), module_call::capsule_name<T>, [](PyObject* o) { held<T>(o).release(); });
}

PyObject* recorder() {
  return PyCapsule_New(
      new Recorder, module_call::capsule_name<Recorder>, [](PyObject* o) { delete &held<Recorder>(o); });
}

void record_input(Recorder& recorder, const Tensor& t) { recorder.input(t); }
void record_output(Recorder& recorder, const Tensor& t) { recorder.output(t); }
void record_parameter(Recorder& recorder, int64_t argument, const Scalar& number) {
  recorder.to_parameter(size_t(argument), number);
}

// (recorder, name, overload, *args, **kwargs): runs the operator and records it.
PyObject* record_step(PyObject*, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames) {
  return guarded([&]() -> PyObject* {
    CHECK(Kind::Type, nargs >= 3, "record_step() expects a recorder, an operator's name and its overload");
    module_call::Argument<Recorder&> first;
    first.take(args[0], nullptr);
    Recorder& recorder = first.value();
    const char *name = utf8(args[1]), *overload = utf8(args[2]);
    Operator* op = find_operator(name, overload);
    CHECK(Kind::Attribute, op, "record_step(): no operator ", name, ".", overload);
    const CallArgs given{args + 3, size_t(nargs - 3), kwnames};
    Bound b;
    Failure failure;
    binding_name = name;
    if (bind_one(*op, Form::op, given, b, failure) != Fit::yes) {
      if (!PyErr_Occurred()) set_binding_error({op}, name, Form::op, given);
      throw PythonError();
    }
    std::vector<Tensor> results;
    List values = values_of(recorder, b.data(), b.size());
    NoGrad off;
    OwnedRef result = owned(call_operator(*op, b));
    if (!op->schema.returns.empty()) collect_tensors(result, results);
    if (op->kind != Operator::View) recorder.step(*op, std::move(values), results);
    return result.give();
  });
}

// Of what it has recorded until now.
PyObject* compile_program(Recorder& recorder, Truth channels_last_on_cpu) {
  return capsule(make<Program>(recorder.steps(), channels_last_on_cpu));
}

std::string program_source(Program& program) { return program.source(); }

int64_t program_most_live(Program& program) { return int64_t(program.most_live()); }

std::vector<Tensor> run_recorded_steps(Recorder& recorder, TensorList inputs, ScalarList numbers, TensorList outputs) {
  return run_with(
      recorder, inputs, outputs, [&](Storages storages) { run_steps(recorder.steps(), storages, numbers); });
}
template <class Runner>
std::vector<Tensor> run_compiled(
    Runner& runner, Recorder& recorder, TensorList inputs, ScalarList numbers, TensorList outputs) {
  return run_with(recorder, inputs, outputs, [&](Storages storages) { runner.run(storages, numbers); });
}

PyObject* make_replay(Program& program) { return capsule(make<Replay>(Ref<Program>(&program))); }

PyObject* replay_counts(Replay& r) {
  const Replay::Counts& c = r.counts();
  return Py_BuildValue("{sKsKsKsKss}", "plain", c.plain, "captured", c.captured, "replayed", c.replayed, "copied",
      c.copied, "why_not", r.why_not().c_str());
}

PyMethodDef functions[] = {function<&make_replay>("make_replay", "(program): it, to run as one CUDA graph."),
    function<&run_compiled<Replay>>("run_replay", "(replay, recorder, inputs, numbers, outputs): runs it."),
    function<&replay_counts>("replay_counts", "How its calls ran, and why not as a graph."),
    function<&recorder>("recorder", "A recorder of operators."),
    function<&record_input>("record_input", "(recorder, tensor): the tensor is what a call brings."),
    function<&record_output>("record_output", "(recorder, tensor): the tensor is a result."),
    function<&record_parameter>(
        "record_parameter", "(recorder, index, number): an argument of the last step is a number that a call brings."),
    raw_function(
        "record_step", record_step, "Runs an operator and records it: (recorder, name, overload, *args, **kwargs)."),
    function<&run_recorded_steps>(
        "run_steps", "(recorder, inputs, numbers, outputs): runs what was recorded, operator after operator."),
    function<&compile_groups>(
        "compile_groups", "(program, architecture): what the CUDA compiler says of a program's groups."),
    function<&compile_program>("compile_program", "(recorder, channels_last_on_cpu): a program of what it has."),
    function<&program_source>("program_source", "The program as text, a line for each kernel and call."),
    function<&program_most_live>("program_most_live", "Bytes of what the program makes, where most are there."),
    function<&run_compiled<Program>>("run_program", "(program, recorder, inputs, numbers, outputs): runs it."), {}};

}  // namespace

int bind_program(PyObject* module) { return PyModule_AddFunctions(module, functions); }

}  // namespace shim
