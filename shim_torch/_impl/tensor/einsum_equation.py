"""Equations of einsum: the names of inputs and output."""

from __future__ import annotations


def _letter(c: str, at: int) -> str:
    if not (c.isascii() and c.isalpha()):
        raise RuntimeError(
            f"einsum(): invalid subscript given at index {at} in the equation string, subscripts must be in [a-zA-Z]"
        )
    return c


def _inputs(left: str, dims: list[int]) -> list[str]:
    """The subscripts of each operand, without spaces: what stands before the arrow, read from left to right as PyTorch reads
    it, so that of several mistakes the same one is named."""
    read, at = [""], 0
    while at < len(left):
        c = left[at]
        if c == ".":
            if "." in read[-1]:
                raise RuntimeError(
                    f"einsum(): found '.' for operand {len(read) - 1} for which an ellipsis was already found"
                )
            if left[at : at + 3] != "...":
                raise RuntimeError(f"einsum(): found '.' for operand {len(read) - 1} that is not part of any ellipsis")
            read[-1] += "..."
            at += 2
        elif c == ",":
            read.append("")
            if len(read) > len(dims):
                raise RuntimeError("einsum(): fewer operands were provided than specified in the equation")
        elif c != " ":
            read[-1] += _letter(c, at)
        at += 1
    if len(read) < len(dims):
        raise RuntimeError("einsum(): more operands were provided than specified in the equation")
    for k, (s, d) in enumerate(zip(read, dims, strict=True)):
        n = len(s.replace("...", ""))
        if "." in s and n > d:
            raise RuntimeError(
                f"einsum(): the number of subscripts in the equation ({n}) is more than the number of dimensions ({d}) for operand {k}"
            )
        if "." not in s and n != d:
            raise RuntimeError(
                f"einsum(): the number of subscripts in the equation ({n}) does not match the number of dimensions ({d}) for "
                f"operand {k} and no ellipsis was given"
            )
    return read


def _output(right: str, start: int, known: set[str]) -> str:
    """The result's subscripts, without spaces; ``start`` is their place in the equation, ``known`` what the operands name."""
    read, at = "", 0
    while at < len(right):
        c = right[at]
        if c == ".":
            if "." in read:
                raise RuntimeError("einsum(): found '.' for output but an ellipsis (...) was already found")
            if right[at : at + 3] != "...":
                raise RuntimeError("einsum(): found '.' for output that is not part of any ellipsis (...)")
            read += "..."
            at += 2
        elif c != " ":
            if _letter(c, start + at) in read:
                raise RuntimeError(f"einsum(): output subscript {c} appears more than once in the output")
            if c not in known:
                raise RuntimeError(
                    f"einsum(): output subscript {c} does not appear in the equation for any input operand"
                )
            read += c
        at += 1
    return read


def _names(s: str, dots: list[str], ndim: int | None) -> list[str]:
    before, found, after = s.partition("...")
    if not found:
        return list(s)
    count = len(dots) if ndim is None else ndim - len(before) - len(after)
    return [*before, *(dots[len(dots) - count :] if count else []), *after]
