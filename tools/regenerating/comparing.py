"""How a file differs from what it should hold: tables by line, expected values by number, saved tensors by what they hold."""

import difflib
import io
import itertools
import json
import math

LINES = 12
EXPECTED_DIGITS = 2e-5  # relative: what other processors' kernels round otherwise, as the tests allow
WRAPPED = 130  # a table of no longer lines is one of words: an added word moves all that follow
BFLOAT16, HALF = 1.6e-2, 6e-3


def difference(path, old, new):
    """The first lines that say what differs, none if nothing does."""
    if old == new:
        return []
    if path.endswith(".pt"):
        found = _of_objects(old, new)
    elif path.startswith("tests/") and path.endswith(".json"):
        found = _of_values(json.loads(old), json.loads(new), lambda case: _digits(path, case))
    else:
        texts = [content.decode().splitlines() for content in (old, new)]
        if max(map(len, itertools.chain(*texts)), default=0) <= WRAPPED:
            texts = [content.decode().split() for content in (old, new)]
        found = difflib.unified_diff(*texts, "committed", "regenerated", n=0, lineterm="")
    return [line[:240] for line in itertools.islice(found, LINES)]


def _digits(path, case):
    """How far numbers of a case may be apart, as its test has it; None for one that this machine cannot give."""
    if path.endswith("matrices_expected.json"):  # Muon's products are in bfloat16
        return BFLOAT16 if "Muon" in case else 1e-3
    if "_int_mm" in case and not _has_vnni():
        return None
    if "_polynomial_" in case:  # long recurrences
        return 1e-4
    if "/ops/expected/" in path:
        return (
            BFLOAT16
            if "bfloat16" in case
            else HALF
            if "half()" in case
            else 1e-3
            if "_scaled_mm" in case
            else EXPECTED_DIGITS
        )
    return EXPECTED_DIGITS


def _has_vnni():
    """Whether sums of products of bytes are exact: without these instructions oneDNN adds two of them up in 16 bits."""
    import torch

    return torch.cpu._is_vnni_supported()


def _of_values(old, new, digits_of):
    """Where two values of JSON differ, case by case."""
    if list(old) != list(new):
        yield from _of_keys("cases", old, new)
    for case in old.keys() & new.keys():
        if digits_of(case) is None:
            continue
        yield from _of_case(f"[{case!r}]", old[case], new[case], digits_of(case))


def _of_case(where, old, new, digits):
    """Where two values differ; numbers in a list are measured by its largest."""
    if isinstance(old, dict) and isinstance(new, dict):
        if list(old) != list(new):
            yield from _of_keys(where, old, new)
        for key in old.keys() & new.keys():
            yield from _of_case(f"{where}[{key!r}]", old[key], new[key], digits)
    elif isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        numbers = [abs(v) for v in old if _is_number(v) and math.isfinite(v)]
        for i, (a, b) in enumerate(zip(old, new, strict=True)):
            if not (_is_number(a) and _is_number(b)):
                yield from _of_case(f"{where}[{i}]", a, b, digits)
            elif not _close(a, b, digits, max(numbers, default=0.0)):
                yield f"{where}[{i}]: {a}, now {b}"
    elif _is_number(old) and _is_number(new):
        if not _close(old, new, digits, abs(old)):
            yield f"{where}: {old}, now {new}"
    elif type(old) is not type(new) or old != new:
        yield f"{where}: {old}, now {new}"


def _of_keys(where, old, new):
    gone, added = [k for k in old if k not in new], [k for k in new if k not in old]
    yield f"{where}: " + (f"without {gone}, with {added}" if gone or added else "in another order")


def _is_number(value):
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _close(a, b, digits, scale):
    if isinstance(a, int) and isinstance(b, int):
        return a == b
    if math.isnan(a) or math.isnan(b) or math.isinf(a) or math.isinf(b):
        return a == b or math.isnan(a) and math.isnan(b)
    return math.isclose(a, b, rel_tol=digits, abs_tol=digits * max(scale, 0.05))


def _of_objects(old, new):
    """Where the objects in two files of torch.save differ."""
    import torch

    given = (torch.load(io.BytesIO(content), weights_only=False) for content in (old, new))
    return _of_case("", *(_plain(torch, value) for value in given), EXPECTED_DIGITS)


def _plain(torch, value):
    """What tests see of an object, as JSON would have it."""
    if isinstance(value, torch.nn.Module):
        return [str(type(value)), str(value), _plain(torch, dict(value.state_dict()))]
    if isinstance(value, torch.Tensor):
        seen = [str(v) for v in (type(value), value.dtype, value.device, value.requires_grad)]
        seen += [list(value.shape), list(value.stride()), value.storage_offset()]
        return [*seen, [] if value.is_meta else _plain(torch, value.detach().tolist())]
    if isinstance(value, (list, tuple)):
        return [str(type(value)), *(_plain(torch, v) for v in value)]
    if isinstance(value, dict):
        return {"type": str(type(value)), **{str(k): _plain(torch, v) for k, v in value.items()}}
    return value if isinstance(value, (bool, int, float, str)) else repr(value)
