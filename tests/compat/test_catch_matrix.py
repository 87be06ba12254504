"""Every way code can ask for torch, with PyTorch absent, installed, and imported first."""

from __future__ import annotations

import pytest

WAYS = [
    "statement", "dunder", "in_exec", "import_module", "find_spec", "sys_modules", "in_sys_modules", "c_import",
    "c_pickle", "as_alias", "via_runpy",
]  # fmt: skip


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("real", ["absent", "installed", "imported"])
def test_scoped_code_gets_ours_and_outsiders_do_not(probe, way, real):
    first = "import torch" if real == "imported" else ""
    probe(
        f"""
        import sys
        {first}
        before = sys.modules.get("torch")
        from compat import enable_torch_proxy
        enable_torch_proxy({{"scoped_lib"}})
        import scoped_lib, outsider
        assert getattr(scoped_lib, {way!r})().OURS is True
        assert sys.modules.get("torch") is (outsider.torch if {real != "absent"} else before)
        seen = outsider.lazy()
        assert (seen is None) if {real == "absent"} else seen.OURS is False
        assert getattr(scoped_lib, {way!r})().OURS is True
        """,
        real=real != "absent",
    )


def test_first_import_from_c_leaves_nothing_behind(probe):
    probe(
        """
        import sys
        from compat import enable_torch_proxy
        enable_torch_proxy({"scoped_lib"})
        import scoped_lib
        assert scoped_lib.c_import().OURS
        assert "torch" not in sys.modules
        """
    )


@pytest.mark.parametrize("way", WAYS)
def test_whole_process(probe, way):
    probe(
        f"""
        import sys
        from compat import enable_torch_proxy, disable_torch_proxy
        enable_torch_proxy()
        import scoped_lib, outsider
        assert getattr(scoped_lib, {way!r})().OURS and outsider.torch.OURS
        import torch.utils.dlpack
        import shim_torch.utils.dlpack as d
        assert torch.utils.dlpack is d is sys.modules["torch.utils.dlpack"]
        assert d.__spec__.name == "shim_torch.utils.dlpack"
        disable_torch_proxy()
        assert not [n for n in sys.modules if n.split(".")[0] == "torch"]
        assert outsider.lazy().OURS  # it was loaded in the scope
        if {way!r} in ("statement", "dunder", "in_exec", "import_module", "find_spec", "c_import", "c_pickle", "as_alias"):
            assert getattr(scoped_lib, {way!r})().OURS
        import blocked_lib
        assert blocked_lib.torch is None
        """
    )
