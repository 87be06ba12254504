"""What the main module imports when it is in the scope, which it came into while it ran."""

from __future__ import annotations


def test_kernel_languages_come_with_the_main_module(probe, tmp_path):
    """It ran before it came into the scope, so that its imports are no imports of ours."""
    (tmp_path / "triton.py").write_text("import torch\n")
    (tmp_path / "another.py").write_text("import sys\nasked = 'torch' in sys.modules\n")
    for scope, joined in (("__main__", True), ("scoped_lib", False)):
        probe(
            f"""
            import sys
            sys.path.insert(0, {str(tmp_path)!r})
            from compat import enable_torch_proxy, torch_proxy_status
            from shim_torch_proxy import adapters
            adapters.load = lambda family: None
            enable_torch_proxy({scope!r})
            import another
            assert torch_proxy_status()["scope"] == [{scope!r}]
            try:
                import triton
            except ImportError:
                assert not {joined}
            else:
                assert triton.torch.OURS
            assert torch_proxy_status()["scope"] == [{scope!r}, "triton"][: 1 + {joined}]
            """
        )
