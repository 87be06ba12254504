"""What records say of operators is asked once: an answer that did not come is asked for again."""

import subprocess
import sys

# In a process of its own, where nobody has asked yet. An operator of which nothing is said would be deferred.
PROGRAM = """
import shim_torch as torch
from shim_torch._impl.compile import deferral
from shim_torch._impl.native import _core

asked = []
def fails_once(record):
    asked.append(record)
    if len(asked) == 1:
        raise KeyboardInterrupt
    return deferral.reason_against(record)
_core.set_trace_hooks(fails_once, deferral.condition, deferral._unsupported, deferral._names_read)

def f(x):
    return torch.poisson(x) * 2

compiled, x = torch.compile(f), torch.rand(20)
try:
    compiled(x)
except KeyboardInterrupt:
    print("interrupted")
for _ in range(3):
    torch.manual_seed(3)
    got = compiled(x)
    torch.manual_seed(3)
    assert torch.equal(got, f(x))
assert asked[1] is asked[0], "it is not asked again"
"""


def test_a_question_that_failed_is_asked_again():
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "interrupted\n"), done.stderr
