"""Calls whose Python does not run again: not where gradients, modes or classes make another call of it."""

from __future__ import annotations

from whole_calls import known

import shim_torch as torch


def _sum(x, y):
    return x + y


def test_gradients_run_python():
    x = torch.ones(3)
    compiled = known(_sum, x, x)
    leaf = torch.ones(3, requires_grad=True)
    compiled(leaf, x).sum().backward()
    assert leaf.grad.tolist() == [1, 1, 1]
    with torch.no_grad():
        for _ in range(4):
            assert not compiled(leaf, x).requires_grad
    with torch.inference_mode():
        assert compiled(x, x).is_inference()


def test_modes_see_the_operators():
    class Doubled(torch.overrides.TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            return func(*args, **(kwargs or {})) * 2

    x = torch.ones(3)
    compiled = known(_sum, x, x)
    with Doubled():
        result = compiled(x, x)
    assert result.tolist() == [4, 4, 4]
    with torch.autocast("cpu", dtype=torch.bfloat16):
        product = known(torch.mm, torch.ones(2, 2), torch.ones(2, 2))
        assert product(torch.ones(2, 2), torch.ones(2, 2)).dtype == torch.bfloat16
    assert torch.func.vmap(compiled)(x, x).tolist() == [2, 2, 2]
    assert torch.func.jvp(compiled, (x, x), (x, x))[1].tolist() == [2, 2, 2]


def test_attributes_of_a_tensor_stand_before_its_methods():
    def product(x):
        return x.mul(2)

    x = torch.ones(3)
    compiled = known(product, x)
    x.mul = lambda n: torch.zeros(3)
    assert compiled(x).tolist() == [0, 0, 0]


class _Marked(torch.Tensor):
    pass


def test_subclasses_stay_what_they_are():
    x = torch.ones(3)
    compiled = known(_sum, x, x)
    assert type(compiled(x.as_subclass(_Marked), x)) is _Marked


def test_memory_that_others_write_to():
    array = torch.zeros(3).numpy()
    compiled = known(_sum, torch.ones(3), torch.ones(3))
    shared = torch.from_numpy(array)
    for step in range(3):
        array[:] = step
        assert compiled(shared, shared).tolist() == [2 * step] * 3
