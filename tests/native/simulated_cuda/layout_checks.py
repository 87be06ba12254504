"""Convolutions within programs on the simulated driver: their own are of the CPU's, for there is no cuDNN."""

import gc

import compiled_checks

import shim_torch as torch
from shim_torch._impl.native import _core

library = torch.library.Library("aten", "IMPL")
_core.function("aten::convolution")  # defines it


def of_the_cpu(x, weight, bias, *settings):
    y = torch.convolution(x.cpu(), weight.cpu(), None if bias is None else bias.cpu(), *settings)
    return y.contiguous(memory_format=_core.suggest_memory_format(x)).cuda()


library.impl("convolution", of_the_cpu, "CUDA")


def recorded(x, *weights):
    recorder = _core.recorder()
    for t in (x, *weights):
        _core.record_input(recorder, t)
    y = x
    for w in weights:
        y = _core.record_step(recorder, "aten::convolution", "", y, w, None, [1, 1], [1, 1], [1, 1], False, [0, 0], 1)
    _core.record_output(recorder, y)
    program = _core.compile_program(recorder, False)
    assert _core.program_source(program).count("= kept(") == len(weights)
    return recorder, program, y


def run(recorder, program, y, inputs):
    return _core.run_program(program, recorder, inputs, [], [y])[0]


def same(found, x, *weights):
    for w in weights:
        x = torch.convolution(x.cpu(), w.cpu(), None, [1, 1], [1, 1], [1, 1], False, [0, 0], 1)
    torch.testing.assert_close(found.cpu(), x)
    assert found.is_contiguous()


def copies():
    x, a, b = (compiled_checks.some(*sizes) for sizes in ((2, 4, 5, 6), (8, 4, 3, 3), (4, 8, 3, 3)))
    held = torch.cuda.memory_allocated()
    made = recorded(x, a, b)
    told = compiled_checks.calls(lambda: same(run(*made, [x, a, b]), x, a, b))
    again = compiled_checks.calls(lambda: same(run(*made, [x, a, b]), x, a, b))
    assert [len([c for c in t if c.startswith("record")]) for t in (told, again)] == [2, 0], (told, again)
    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        there, once_more = (compiled_checks.calls(lambda: run(*made, [x, a, b])) for _ in range(2))
    assert [len([c for c in t if c.startswith("wait")]) for t in (there, once_more)] == [2, 0], (there, once_more)
    a.mul_(2)
    same(run(*made, [x, a, b]), x, a, b)
    with torch.cuda.stream(side):
        there = compiled_checks.calls(lambda: run(*made, [x, a, b]))
    assert len([c for c in there if c.startswith("wait")]) == 1, there
    made = None
    gc.collect(), torch.cuda.synchronize()
    assert torch.cuda.memory_allocated() == held
