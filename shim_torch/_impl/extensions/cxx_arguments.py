"""Arguments of the methods of custom classes: bound by the schema that the C++ types tell."""

from __future__ import annotations

from typing import Any, NamedTuple

MISSING = object()


class Parameter(NamedTuple):
    """One of a method."""

    name: str
    type: str
    default: Any


class Signature(NamedTuple):
    """A method's: its name, the text of its schema, its parameters."""

    name: str
    text: str
    parameters: tuple[Parameter, ...]


def parsed(schema: str, names: list[str], defaults: list[Any]) -> Signature:
    """Of a schema's text. Names and defaults are of the last parameters; without names those of the schema stay."""
    name, _, rest = schema.partition("(")
    inner = rest.rpartition(") ->")[0]
    rows = [(n, t) for t, _, n in (part.strip().rpartition(" ") for part in _split(inner))]
    shown = [n for n, _ in rows]
    if names:
        shown[len(rows) - len(names) :] = names
    padded = [MISSING] * (len(rows) - len(defaults)) + list(defaults)
    made = tuple(Parameter(n, t, d) for n, (_, t), d in zip(shown, rows, padded, strict=True))
    returned = schema.rpartition(" -> ")[2]
    listed = ", ".join(f"{p.type} {p.name}" + (f"={p.default}" if p.default is not MISSING else "") for p in made)
    return Signature(name, f"{name}({listed}) -> {returned}", made)


def _split(text: str) -> list[str]:
    parts, depth = [""], 0
    for c in text:
        depth += (c == "(") - (c == ")")
        if c == "," and not depth:
            parts.append("")
        else:
            parts[-1] += c
    return [p for p in parts if p.strip()]


def _shown(kind: str) -> str:
    """A type as PyTorch's messages name it."""
    if kind.endswith("?"):
        return f"Optional[{_shown(kind[:-1])}]"
    return f"List[{_shown(kind[:-2])}]" if kind.endswith("[]") else kind


def fits(value: Any, kind: str) -> bool:
    """Whether a value is of a schema's type; types that are not told apart here fit all."""
    from shim_torch import Tensor

    if kind.endswith("?"):
        return value is None or fits(value, kind[:-1])
    if kind.endswith("[]"):
        return isinstance(value, (list, tuple)) and all(fits(v, kind[:-2]) for v in value)
    if kind.startswith("__torch__."):
        return getattr(getattr(value, "_class", None), "_qualified", None) == kind
    known: dict[str, Any] = {
        "str": str, "bool": bool, "Tensor": Tensor, "float": (int, float), "int": int,
    }  # fmt: skip
    if kind not in known:
        return not kind.startswith("Dict(") or isinstance(value, dict)
    return isinstance(value, known[kind]) and not (kind in ("int", "float") and isinstance(value, bool))


def bound(signature: Signature, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Any]:
    """The arguments in order. Errors: RuntimeError for too many, missing, unknown ones, and those of another type."""
    name, text, parameters = signature
    if len(args) > len(parameters):
        raise RuntimeError(
            f"{name}() expected at most {len(parameters)} argument(s) but received {len(args)} argument(s). Declaration: {text}"
        )
    left, found = dict(kwargs), []
    for i, p in enumerate(parameters):
        value = args[i] if i < len(args) else left.pop(p.name, p.default)
        if value is MISSING:
            raise RuntimeError(f"{name}() is missing value for argument '{p.name}'. Declaration: {text}")
        if i and not fits(value, p.type):
            raise RuntimeError(
                f"{name}() Expected a value of type '{_shown(p.type)}' for argument '{p.name}' but instead found type "
                f"'{type(value).__name__}'.\nPosition: {i}\nValue: {value!r}\nDeclaration: {text}"
            )
        found.append(value)
    if left:
        raise RuntimeError(f"Unknown keyword argument '{next(iter(left))}' for operator '{name}'. Schema: {text}")
    return found
