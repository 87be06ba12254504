"""Functions and classes of our torch cross to other processes by name, which threads and children look up for nobody."""

import importlib.util

import pytest

SCRIPT = """
import sys
from compat import enable_torch_proxy

if __name__ == "__main__":
    enable_torch_proxy({"scoped_lib"})
    import concurrent.futures, multiprocessing, scoped_lib
    Tensor = scoped_lib.torch.Tensor
    context = multiprocessing.get_context(sys.argv[1])
    with context.Pool(1) as pool:
        assert pool.map(scoped_lib.same, [Tensor, 2]) == [Tensor, 2]
    with concurrent.futures.ProcessPoolExecutor(1, mp_context=context) as workers:
        assert workers.submit(scoped_lib.same, Tensor).result(60) is Tensor
    assert "torch" not in sys.modules
    print("ok")
"""

LIBRARY = """
import torch

def same(value):
    import torch
    assert value is torch.Tensor or value == 2
    return value
"""

CLOUDPICKLE = """
import sys
from compat import enable_torch_proxy
enable_torch_proxy({"scoped_lib"})
import cloudpickle, scoped_lib
torch = scoped_lib.torch
packed = cloudpickle.dumps([torch, torch.nn.functional, torch.Tensor, lambda: torch.Tensor])
module, functional, tensor, function = cloudpickle.loads(packed)
assert module is torch and functional is torch.nn.functional and tensor is torch.Tensor and function() is tensor
assert "torch" not in sys.modules
"""

LOKY = """
import sys
from compat import enable_torch_proxy
enable_torch_proxy({"scoped_lib"})
import joblib, scoped_lib
Tensor = scoped_lib.torch.Tensor
assert joblib.Parallel(2)(joblib.delayed(scoped_lib.same)(Tensor) for _ in range(2)) == [Tensor, Tensor]
assert "torch" not in sys.modules
"""


@pytest.fixture
def run(tmp_path, python):
    (tmp_path / "scoped_lib.py").write_text("import torch.nn.functional\n" + LIBRARY)
    script = tmp_path / "script.py"

    def call(text, *arguments):
        script.write_text(text)
        done = python([str(script), *arguments], "shim", cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        return done.stdout

    return call


@pytest.mark.parametrize("start", ["spawn", "forkserver"])
def test_workers_take_and_give_classes_by_name(run, start):
    assert run(SCRIPT, start) == "ok\n"


@pytest.mark.skipif(importlib.util.find_spec("cloudpickle") is None, reason="needs cloudpickle")
def test_cloudpickle_names_what_is_ours(run):
    run(CLOUDPICKLE)


@pytest.mark.skipif(importlib.util.find_spec("joblib") is None, reason="needs joblib")
def test_workers_of_joblib_have_the_scope(run):
    run(LOKY)


def test_the_modules_that_pickle_are_as_before(probe):
    probe(
        """
        import builtins, sys, multiprocessing.reduction as reduction, multiprocessing.queues, multiprocessing.spawn
        before = dict(vars(reduction)), multiprocessing.spawn.get_preparation_data
        from compat import disable_torch_proxy, enable_torch_proxy
        enable_torch_proxy({"scoped_lib"})
        import scoped_lib.lazy, pickle, shim_torch
        assert vars(reduction)["__builtins__"] is not before[0]["__builtins__"]
        packed = bytes(reduction.ForkingPickler.dumps(shim_torch.Tensor))
        assert b"torch" in packed and "torch" not in sys.modules
        disable_torch_proxy()
        assert dict(vars(reduction)) == before[0] and multiprocessing.spawn.get_preparation_data is before[1]
        try:
            reduction.ForkingPickler.dumps(shim_torch.Tensor)
        except pickle.PicklingError:
            pass
        else:
            raise AssertionError
        """
    )


def test_beside_a_real_pytorch_pickles_by_others_are_its(probe):
    probe(
        """
        import torch, multiprocessing.reduction as reduction
        from compat import enable_torch_proxy
        enable_torch_proxy({"scoped_lib"})
        import scoped_lib
        import pickle
        torch.Module = type("Module", (), {"__module__": "torch"})
        packed = reduction.ForkingPickler.dumps(torch.Module)
        assert pickle.loads(packed) is torch.Module and scoped_lib.statement() is not torch
        """,
        real=True,
    )
