"""Tables taken from PyTorch's public interface, and from our own records; ``tools/regenerate.py`` writes them."""

from __future__ import annotations

import os


def read(name: str) -> str:
    """The text of a table: ``"surface.txt"``."""
    with open(os.path.join(os.path.dirname(__file__), name), encoding="utf-8") as table:
        return table.read()


def section(name: str, title: str) -> list[str]:
    """The words below ``[title]`` in a table of sections."""
    return read(name).partition(f"[{title}]\n")[2].partition("[")[0].split()
