"""TCPStore: who serves a port that several processes want at the same moment."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from datetime import timedelta

import pytest

from shim_torch.distributed import DistNetworkError, TCPStore

# What Linux does to both of two sockets of a port that listen at the same moment, as often as it is asked to.
REFUSED = """
#include <errno.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>
int listen(int fd, int backlog) {
  static int left = -1;
  if (left < 0) left = atoi(getenv("REFUSED"));
  if (left > 0) return --left, errno = EADDRINUSE, -1;
  return (int)syscall(SYS_listen, fd, backlog);
}
"""

SERVES = """
from datetime import timedelta
from shim_torch.distributed import DistNetworkError, TCPStore
try:
    store = TCPStore("127.0.0.1", 0, None, True, timedelta(seconds=5), wait_for_workers=False)
    store.set("key", "value")
    print(store.get("key").decode())
except DistNetworkError as error:
    print(error)
"""


@pytest.fixture(scope="module")
def refusing(tmp_path_factory):
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None or not sys.platform.startswith("linux"):
        pytest.skip("needs a C compiler and Linux")
    folder = tmp_path_factory.mktemp("refusing")
    (folder / "refused.c").write_text(REFUSED)
    subprocess.run([compiler, "-shared", "-fPIC", "-o", folder / "refused.so", folder / "refused.c"], check=True)
    return folder / "refused.so"


@pytest.mark.parametrize(("times", "said"), [(3, "value"), (1000, "EADDRINUSE")])
def test_who_may_not_listen_yet_tries_again(refusing, times, said):
    env = os.environ | {"LD_PRELOAD": str(refusing), "REFUSED": str(times), "PYTHONPATH": os.pathsep.join(sys.path)}
    told = subprocess.run([sys.executable, "-c", SERVES], env=env, capture_output=True, text=True, timeout=60)
    assert said in told.stdout, told.stderr


def test_a_port_that_is_served_is_refused():
    store = TCPStore("127.0.0.1", 0, None, True, timedelta(seconds=5), wait_for_workers=False)
    with pytest.raises(DistNetworkError, match=f"port: {store.port}.*EADDRINUSE.*address already in use"):
        TCPStore("127.0.0.1", store.port, None, True, timedelta(seconds=5), wait_for_workers=False)
