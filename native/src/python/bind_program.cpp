// Recorded operators and their programs, as functions of shim_torch._impl.native._core.
#include "program/replay.h"
#include "program/values.h"
#include "python/dispatch.h"
#include "python/held_type.h"

namespace shim {

using namespace program;

template <> struct module_call::Argument<Recorder&> : HeldArgument<Recorder> {};
template <> struct module_call::Argument<Program&> : HeldArgument<Program> {};
template <> struct module_call::Argument<Replay&> : HeldArgument<Replay> {};

namespace {

const HeldType<Recorder> recorder_type{"Recorder"};
const HeldType<Program> program_type{"Program"};
const HeldType<Replay> replay_type{"Replay"};

template <class T> std::shared_ptr<T> shared(Ref<T> counted) {
  return {counted.detach(), [](T* last) { last->release(); }};
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
    const auto* held = held_in<Recorder>(args[0]);
    CHECK(Kind::Type, held, "record_step() expects a recorder");
    Recorder& recorder = **held;
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
    List values;
    Values given_values;
    for (PyObject* o : std::span(b.data(), b.size()))
      values.push_back(o ? recorded(given_values.of(o), recorder) : program::Value{});
    NoGrad off;
    OwnedRef result = owned(call_operator(*op, b));
    if (!op->schema.returns.empty()) collect_tensors(Values().of(result), results);
    if (op->kind != Operator::View) recorder.step(*op, std::move(values), results);
    return result.give();
  });
}

// Of what it has recorded until now.
std::shared_ptr<Program> compile_program(Recorder& recorder, Truth channels_last_on_cpu) {
  return shared(make<Program>(recorder.steps(), channels_last_on_cpu));
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

std::shared_ptr<Replay> make_replay(Program& program) { return shared(make<Replay>(Ref<Program>(&program))); }

Fact replay_counts(Replay& r) {
  const Replay::Counts& c = r.counts();
  return Fact::Named{{"plain", c.plain}, {"captured", c.captured}, {"replayed", c.replayed}, {"copied", c.copied},
      {"why_not", r.why_not()}};
}

const ModulePart program_functions{{function<&make_replay>("make_replay", "(program): it, to run as one CUDA graph."),
    function<&run_compiled<Replay>>("run_replay", "(replay, recorder, inputs, numbers, outputs): runs it."),
    function<&replay_counts>("replay_counts", "How its calls ran, and why not as a graph."),
    function<&std::make_shared<Recorder>>("recorder", "A recorder of operators."),
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
    function<&run_compiled<Program>>("run_program", "(program, recorder, inputs, numbers, outputs): runs it.")}};

}  // namespace

}  // namespace shim
