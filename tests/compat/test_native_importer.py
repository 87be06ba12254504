"""Extension modules import from C, past any ``__import__`` (as Cython's do): ours is shown to them while they start."""

from __future__ import annotations

import shutil
import subprocess
import sysconfig

import pytest

SOURCE = """
#include <Python.h>
static int find(PyObject *module) {
    PyObject *torch = PyImport_ImportModuleLevelObject(PyUnicode_FromString("torch"), NULL, NULL, NULL, 0);
    if (!torch) { PyErr_Clear(); torch = Py_None; Py_INCREF(torch); }
    return PyModule_AddObject(module, "torch", torch);
}
#if SINGLE
static struct PyModuleDef def = {PyModuleDef_HEAD_INIT, "native_user", NULL, -1, NULL};
PyMODINIT_FUNC PyInit_native_user(void) {
    PyObject *module = PyModule_Create(&def);
    if (module) find(module);
    return module;
}
#else
static PyModuleDef_Slot slots[] = {{Py_mod_exec, find}, {0, NULL}};
static struct PyModuleDef def = {PyModuleDef_HEAD_INIT, "native_user", NULL, 0, NULL, slots};
PyMODINIT_FUNC PyInit_native_user(void) { return PyModuleDef_Init(&def); }
#endif
"""


@pytest.mark.parametrize("single", [0, 1])
@pytest.mark.parametrize("real", [False, True])
def test_extension_in_scope(probe, tmp_path, single, real):
    compiler = shutil.which("gcc") or shutil.which("cc")
    if compiler is None:
        pytest.skip("needs a C compiler")
    (tmp_path / "n.c").write_text(SOURCE)
    target = tmp_path / ("native_user" + sysconfig.get_config_var("EXT_SUFFIX"))
    include = sysconfig.get_path("include")
    flags = ["-shared", "-fPIC", "-w", f"-DSINGLE={single}", f"-I{include}"]
    subprocess.run([compiler, *flags, str(tmp_path / "n.c"), "-o", str(target)], check=True)
    probe(
        f"""
        import sys
        sys.path.insert(0, {str(tmp_path)!r})
        if {real}:
            import torch
        before = sys.modules.get("torch")
        from compat import enable_torch_proxy, torch_proxy_status
        enable_torch_proxy("native_user")
        import native_user
        assert native_user.torch.OURS, native_user.torch
        assert sys.modules.get("torch") is before
        assert torch_proxy_status()["native_windows"] >= 1
        """,
        real=real,
    )
