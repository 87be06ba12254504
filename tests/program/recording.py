"""Programs recorded operator by operator, for tests that need no tracer."""

from shim_torch._impl.native import _core


class Recording:
    """Runs operators and records them: `add = r.step("add.Tensor", x, y)`; names are of aten. Inputs share no memory."""

    channels_last_on_cpu = False

    def __init__(self, *inputs):
        self.recorder = _core.recorder()
        self.inputs = list(inputs)
        self.numbers = []
        self.outputs = []
        self.program = self.replay = None
        for tensor in inputs:
            _core.record_input(self.recorder, tensor)

    def step(self, name, *args, **kwargs):
        name, _, overload = name.partition(".")
        return _core.record_step(self.recorder, f"aten::{name}", overload, *args, **kwargs)

    def parameter(self, argument, number):
        """The last step's argument is a number that each call brings."""
        _core.record_parameter(self.recorder, argument, number)
        self.numbers.append(number)

    def returns(self, *tensors):
        for tensor in tensors:
            _core.record_output(self.recorder, tensor)
            self.outputs.append(tensor)
        self.program = _core.compile_program(self.recorder, self.channels_last_on_cpu)
        return self

    def run_steps(self, inputs=None, numbers=None):
        """One operator after the other."""
        return _core.run_steps(self.recorder, *self._call(inputs, numbers))

    def run(self, inputs=None, numbers=None):
        """The program."""
        return _core.run_program(self.program, self.recorder, *self._call(inputs, numbers))

    def run_replay(self, inputs=None, numbers=None):
        """The program as one CUDA graph."""
        self.replay = self.replay or _core.make_replay(self.program)
        return _core.run_replay(self.replay, self.recorder, *self._call(inputs, numbers))

    @property
    def counts(self):
        return _core.replay_counts(self.replay)

    def _call(self, inputs, numbers):
        return self.inputs if inputs is None else inputs, self.numbers if numbers is None else numbers, self.outputs

    @property
    def lines(self):
        """What the program does, without its frame."""
        return [line.strip() for line in _core.program_source(self.program).splitlines()[1:-1]]
