"""Records whose modules are imported when their code is first needed: by whatever asks first, in a fresh process."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from shim_torch._impl import native

ROOT = Path(native.__file__).parents[3]  # where it is installed, or the source tree


def run(code: str) -> str:
    path = os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=dict(os.environ, PYTHONPATH=path), timeout=300
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout.strip()


def test_the_rows_are_those_of_the_records():
    """tools/records.py writes them; here the records are asked themselves, every module imported."""
    tools = Path(__file__).parents[2] / "tools"
    if not (tools / "records.py").exists():
        pytest.skip("needs the source tree")
    code = f"""
import sys
sys.path.append({str(tools)!r})
from records import text
made = text()
import shim_torch._impl.data as data
print(made == data.read("records.py") or "stale: run tools/records.py")"""
    assert run(code) == "True"


def test_the_import_leaves_them():
    code = """
import sys, shim_torch as torch
families = {f"shim_torch._impl.records.{name}" for name in sys.modules["shim_torch._impl.table.rows"].FAMILIES}
print(len(families) > 40, sorted(families & set(sys.modules)))
x = torch.tensor([1.0, 2.0])
x.mul(x).exp()
print(sorted(families & set(sys.modules)), "shim_torch._impl.table.plan" in sys.modules)"""
    assert run(code).splitlines() == ["True []", "[] False"]


# What asks first, and what it prints.
FIRST = {
    "torch.ones(2, 2) @ torch.ones(2)": "tensor([2., 2.])",
    "torch.ones(2).__rmatmul__(torch.ones(2))": "tensor(2.)",
    "-torch.ones(1) + ~torch.tensor([True])": "tensor([-1.])",
    "(torch.tensor([5]) // 2, torch.tensor([5]) % 3, 2 ** torch.tensor([3]), torch.tensor([6]) >> 1)": "(tensor([2]), tensor([2]), tensor([8]), tensor([3]))",
    "torch.ones(2, dtype=torch.bool).logical_xor_(torch.ones(2))": "tensor([False, False])",
    "torch.add(torch.ones(2), 1, out=torch.empty(2))": "tensor([2., 2.])",
    "torch.ones(2).mul_(3)": "tensor([3., 3.])",
    "torch.tensor([3.0, 1.0]).sort(stable=True).values": "tensor([1., 3.])",
    "torch.arange(4.0).reshape(2, 2).T.tril().unbind()": "(tensor([0., 0.]), tensor([1., 3.]))",
    "torch.ones(3, device='meta').exp().cumsum(0).device.type": "'meta'",
    "torch.ones(2, dtype=torch.float16).erfinv().dtype": "torch.float16",
    "torch.tensor([True, False]).any().item(), torch.tensor([1, 2]).bitwise_left_shift(1)": "(True, tensor([2, 4]))",
    "torch.special.ndtri(torch.tensor([0.5]))": "tensor([0.])",
    "'Returns' in (torch.cumsum.__doc__ or '') or len(torch.cumsum.__doc__) > 20": "True",
    "torch.ops.aten.mul.Tensor(torch.ones(1), torch.ones(1))": "tensor([1.])",
    "torch.ops.aten.mul.out(torch.ones(1), torch.ones(1), out=torch.zeros(1))": "tensor([1.])",
    "__import__('shim_torch._refs')._refs.add(torch.ones(2), torch.ones(2), out=torch.empty(2))": "tensor([2., 2.])",
    "__import__('shim_torch._refs')._refs.softmax(torch.zeros(2), 0)": "tensor([0.5000, 0.5000])",
    "[t.grad for t in [torch.ones(2, requires_grad=True)] if (t * t).exp().sum().backward() is None][0]": "tensor([5.4366, 5.4366])",
    "torch.autograd.functional.hessian(lambda x: (x ** 3).sum(), torch.ones(2)).diag()": "tensor([6., 6.])",
    "torch.func.vmap(torch.func.grad(lambda x: x.sin().sum()))(torch.zeros(3, 2)).sum()": "tensor(6.)",
    "torch.func.jvp(lambda x: x * x, (torch.ones(2),), (torch.ones(2),))[1]": "tensor([2., 2.])",
    "torch.func.functionalize(lambda x: x.clone().add_(1))(torch.ones(2))": "tensor([2., 2.])",
    "torch.nn.functional.gelu(torch.ones(1)), torch.conv1d(torch.ones(1, 1, 3), torch.ones(1, 1, 3)).item()": "(tensor([0.8413]), 3.0)",
    "torch.compile(lambda x: (x + 1).relu().sum())(torch.ones(3))": "tensor(6.)",
    "torch.tensor([1 + 2j]).conj().imag, torch.view_as_real(torch.tensor([1 + 2j])).shape": "(tensor([-2.]), torch.Size([1, 2]))",
    "torch.ones(2).to_sparse().mul(2).to_dense()": "tensor([2., 2.])",
    "str(torch.library.opcheck) and torch.ops.aten.cat.default._schema": "aten::cat(Tensor[] tensors, int dim=0) -> Tensor",
    "len([n for n in dir(torch.ops.aten) if n == 'cumsum']), torch._C._jit_get_all_schemas() != []": "(1, True)",
}


@pytest.mark.parametrize("first", FIRST)
def test_whatever_asks_first_finds_them(first):
    assert run(f"import shim_torch as torch\nprint(repr(({first})))").replace("torch.torch", "torch") == FIRST[first]


def test_modes_of_the_user_are_not_those_of_the_module_that_is_imported():
    code = """
import shim_torch as torch
from shim_torch.overrides import TorchFunctionMode
seen = []
class Mode(TorchFunctionMode):
    def __torch_function__(self, func, types, args=(), kwargs=None):
        seen.append(func.__name__)
        return func(*args, **(kwargs or {}))
x = torch.ones(2, requires_grad=True)
with Mode(), torch.device("meta"), torch.inference_mode(False):
    y = x.cumprod(0).triu_indices if hasattr(x, "triu_indices") else x.cumprod(0)
print(seen, y.device, y.grad_fn.name())
torch.set_default_dtype(torch.float64)
y.sum().backward()
print(x.grad, torch.eye(2).cumsum(0).dtype)"""
    assert run(code).splitlines() == [
        "['device', 'cumprod'] cpu CumprodBackward0",
        "tensor([2., 1.], dtype=torch.float32) torch.float64",
    ]


def test_an_import_that_fails_is_tried_again():
    """As where memory runs out: the operator raises, and works later."""
    code = """
import builtins, sys, shim_torch as torch
import errno
rows = sys.modules["shim_torch._impl.table.rows"]
x = torch.ones(2, requires_grad=True)
y = x.exp().sum()
real = rows.import_module
def out_of_memory(name):
    raise OSError(errno.ENOMEM, "Cannot allocate memory")
def half_way(name):
    real("shim_torch._impl.records.pointwise.unary")
    del sys.modules["shim_torch._impl.records.pointwise.unary"]
    raise ImportError("half way")
for broken, kind in ((out_of_memory, MemoryError), (half_way, ImportError)):
    rows.import_module = broken
    try:
        y.backward(retain_graph=True)
    except kind as error:
        print(kind.__name__)
    rows.import_module = real
    x.grad = None
y.backward()
print(x.grad)
print(torch.ones(2).float_power(2), torch.ones(2).cumsum(0))"""
    assert run(code).splitlines() == [
        "MemoryError",
        "ImportError",
        "tensor([2.7183, 2.7183])",
        "tensor([1., 1.], dtype=torch.float64) tensor([1., 2.])",
    ]


def test_threads_that_ask_first_at_once():
    code = """
import sys, threading, shim_torch as torch
sys.setswitchinterval(1e-6)
barrier, found = threading.Barrier(8), []
def work(i):
    x = torch.full((3,), 2.0, requires_grad=True)
    barrier.wait()
    (x.exp() * x.cumsum(0)).sqrt().sum().backward()
    found.append(([round(v, 4) for v in x.grad.tolist()], torch.stack([x, x]).tril().sum().item(), torch.isclose(x, x).all().item()))
threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
[t.start() for t in threads]; [t.join() for t in threads]
print(len(found), len({str(f) for f in found}))"""
    for _ in range(3):
        assert run(code) == "8 1"


def test_a_forked_child_imports_what_it_needs():
    code = """
import os, shim_torch as torch
x = torch.ones(2, requires_grad=True)
y = x.tanh().cumsum(0).sum()
for _ in range(2):
    child = os.fork()
    if not child:
        y.backward()
        os._exit(0 if x.grad.shape == (2,) else 1)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
y.backward(); print(x.grad.shape)"""
    assert run(code).splitlines() == ["0", "0", "torch.Size([2])"]


@pytest.mark.parametrize("later", ["x.float_power(2)", "torch.bincount(torch.tensor([1, 2]))"])
def test_a_process_does_not_fork_while_a_thread_imports(later):
    """The child would wait for ever for an import that nobody ends there: a family of the rows, and one of LATER."""
    code = f"""
import os, signal, sys, threading, time, shim_torch as torch
rows, table = sys.modules["shim_torch._impl.table.rows"], sys.modules["shim_torch._impl.table.operators"]
started, x = threading.Event(), torch.tensor([1.0, 2.0])
class Slow:
    @staticmethod
    def find_spec(name, path=None, target=None):
        if name.startswith("shim_torch._impl.records."):
            started.set()
            time.sleep(0.02)
sys.meta_path.insert(0, Slow)
thread = threading.Thread(target=lambda: {later})
thread.start()
assert started.wait(30)
child = os.fork()
if not child:
    signal.alarm(30)
    os._exit(0 if {later}.numel() > 1 else 1)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
thread.join()"""
    assert run(code) == "0"


def test_a_family_that_was_changed_is_imported_at_once(tmp_path):
    """In a source tree: a record that its row does not know is there."""
    tree = tmp_path / "shim_torch"
    shutil.copytree(ROOT / "shim_torch", tree, copy_function=os.symlink, ignore=shutil.ignore_patterns("__pycache__"))
    (tmp_path / "tools").mkdir()
    (tmp_path / "tools/records.py").write_text("")
    for file in (tree / "_impl/data/records.py", tree / "_impl/records/pointwise/unary.py"):
        text = file.read_text()
        file.unlink()
        file.write_text(text)
    file.write_text(text + '\n\n@composite("one_more(Tensor self) -> Tensor")\ndef one_more(self):\n    return self\n')
    code = f"""
import sys
sys.path.insert(0, {str(tmp_path)!r})
import shim_torch as torch
print("shim_torch._impl.records.pointwise.unary" in sys.modules, hasattr(torch.ops.aten, "one_more"), torch.exp(torch.zeros(1)).item())"""
    os.utime(tree / "_impl/data/records.py", (file.stat().st_mtime - 90,) * 2)
    assert run(code) == "True True 1.0"
    os.utime(tree / "_impl/data/records.py")
    assert run(code) == "False False 1.0"


def test_a_row_that_is_not_its_records_is_an_error():
    code = """
import sys, shim_torch as torch
record = sys.modules["shim_torch._impl.table.record"].RECORDS["aten::exp"]
record.row = (*record.row[:2], (), *record.row[3:])
try:
    record.body
except TypeError as error:
    print(error)"""
    assert run(code) == "aten::exp: shim_torch/_impl/data/records.py says something else; run tools/records.py"
