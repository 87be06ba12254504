"""What ``importlib.metadata`` answers about the distribution ``torch`` to code in scope."""

from __future__ import annotations

from collections.abc import Iterator

from shim_torch_proxy import hiding, importer

TYPE_CHECKING = False  # typing takes long to import, and only type checkers need it
if TYPE_CHECKING:
    from typing import Any

METADATA = """Metadata-Version: 2.1
Name: torch
Version: {version}
Summary: Metadata of shim-torch's torch; holds no code
"""


def is_torch(name: Any) -> bool:
    """Whether ``name`` is the distribution torch, spelt in any way that PEP 503 allows."""
    return isinstance(name, str) and name.lower() == "torch"  # no name with a separator is equal to it


def version() -> str:
    """``torch.__version__`` of our torch."""
    from shim_torch_proxy import modules

    return str(getattr(modules.get("torch"), "__version__", "2.13.0+shim"))


def distribution(base: Any) -> Any:
    """A Distribution of the package that ``base`` (its Distribution class) comes from."""

    class TorchDistribution(base):  # type: ignore[misc]
        def read_text(self, filename: str) -> str | None:
            return METADATA.format(version=version()) if filename in ("METADATA", "PKG-INFO") else None

        def locate_file(self, path: Any) -> Any:
            import pathlib

            from shim_torch_proxy import modules

            return pathlib.Path(modules.get("torch").__file__ or ".").parent / path

    return TorchDistribution()


def answers(package: Any, in_scope: Any) -> Iterator[tuple[Any, str, Any]]:
    """What replaces functions of ``package`` (importlib.metadata or importlib_metadata): (owner, name, function).

    ``in_scope()`` says whether the caller of the function that asks it is in scope.
    """

    def by_name(name: str) -> Any:
        original = getattr(package, name)

        def wrapper(distribution_name: str) -> Any:
            if hiding.is_distribution(distribution_name) and in_scope():
                raise package.PackageNotFoundError(distribution_name)
            if not (is_torch(distribution_name) and in_scope()):
                return original(distribution_name)
            found = distribution(package.Distribution)
            return found if name == "distribution" else getattr(found, name)

        return _named(wrapper, original)

    def packages_distributions() -> Any:
        found = all_packages()
        if not in_scope():
            return found
        seen = {name: owners for name, owners in found.items() if not importer.is_hidden(name)}
        return {**seen, "torch": ["torch"], "functorch": ["torch"]}

    def from_name(cls: Any, name: str) -> Any:
        if cls is package.Distribution and is_torch(name) and in_scope():
            return distribution(cls)
        if hiding.is_distribution(name) and in_scope():
            raise package.PackageNotFoundError(name)
        return plain_from_name(cls, name)

    def discover(cls: Any, **kwargs: Any) -> Any:
        found = plain_discover(cls, **kwargs)
        wanted = kwargs.get("name")
        of_interest = wanted is None or is_torch(wanted) or hiding.is_distribution(wanted)
        if kwargs.get("context") is not None or not of_interest or not in_scope():
            return found
        others = (d for d in found if not (is_torch(d.metadata["Name"]) or hiding.is_distribution(d.metadata["Name"])))
        if wanted is not None and not is_torch(wanted):
            return others
        return iter([distribution(package.Distribution), *others])

    plain_from_name = package.Distribution.from_name.__func__
    plain_discover = package.Distribution.discover.__func__
    yield package.Distribution, "from_name", classmethod(_named(from_name, plain_from_name))
    yield package.Distribution, "discover", classmethod(_named(discover, plain_discover))
    for name in ("version", "distribution", "metadata", "requires"):
        yield package, name, by_name(name)
    if hasattr(package, "packages_distributions"):
        all_packages = package.packages_distributions
        yield package, "packages_distributions", _named(packages_distributions, all_packages)


def _named(wrapper: Any, original: Any) -> Any:
    import functools

    return functools.wraps(original)(wrapper)


__all__ = ["answers", "distribution", "is_torch", "version"]
