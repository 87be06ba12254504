"""What the shared objects of a wheel, folder or package need of PyTorch: the stable C ABI, its C++ ABI, or nothing."""

from __future__ import annotations

import mmap
import os
import re
import zipfile
from collections.abc import Iterator
from typing import Any

# The release of PyTorch that brought a function; all others were there in 2.9.
_SINCE = {
    (2, 10): (
        "aoti_torch_aten_full aoti_torch_aten_subtract_Tensor torch_c10_cuda_check_msg torch_c10_cuda_free_error_msg "
        "torch_call_dispatcher torch_cuda_stream_synchronize torch_delete_list torch_delete_string torch_get_const_data_ptr "
        "torch_get_cuda_stream_from_pool torch_get_current_cuda_blas_handle torch_get_mutable_data_ptr "
        "torch_get_num_threads torch_get_thread_idx torch_library_impl torch_list_get_item torch_list_push_back "
        "torch_list_set_item torch_list_size torch_new_list_reserve_size torch_new_string_handle torch_parallel_for "
        "torch_parse_device_string torch_set_current_cuda_stream torch_set_requires_grad torch_string_c_str "
        "torch_string_length"
    ),
    (2, 11): "torch_dtype_float4_e2m1fn_x2 torch_dtype_float8_e8m0fnu torch_from_blob",
    (2, 12): "aoti_torch_dtype_float4_e2m1fn_x2 aoti_torch_dtype_float8_e8m0fnu torch_library_def_with_tags",
    (2, 13): (
        "torch_delete_generator torch_delete_stable_ivalue torch_exception_get_what "
        "torch_exception_get_what_without_backtrace torch_generator_get_device torch_library_set_python_module "
        "torch_new_generator_handle torch_new_stable_ivalue torch_stream_native_handle"
    ),
    (2, 14): "torch_has_storage torch_tensor_from_pyobject torch_tensor_to_pyobject",
}
_RELEASE = {name: release for release, names in _SINCE.items() for name in names.split()}


def release_of(function: str) -> tuple[int, int]:
    """The first release of PyTorch with this function of the stable ABI."""
    if function.startswith("torch_tag_"):
        return (2, 12)
    return _RELEASE.get(function, (2, 9))


def is_shared_object(name: str) -> bool:
    """Whether the name is a shared object's: ``x.so``, ``libx.so.13``."""
    return re.search(r"\.so(\.\d+)*$", name) is not None


def _files(target: str) -> list[str]:
    if os.path.isfile(target):
        return [target]
    from shim_torch_proxy.cli.scan import places

    roots = [target] if os.path.isdir(target) else places(target)
    return sorted(
        os.path.join(folder, name)
        for root in roots
        for folder, _, names in (os.walk(root) if os.path.isdir(root) else [("", [], [root])])
        for name in names
        if is_shared_object(name)
    )


def shared_objects(target: str) -> Iterator[tuple[str, Any]]:
    """(name, bytes or a memory map) of every shared object of a wheel, folder, file or importable package."""
    if os.path.isfile(target) and zipfile.is_zipfile(target):
        with zipfile.ZipFile(target) as archive:
            for name in sorted(filter(is_shared_object, archive.namelist())):
                yield name, archive.read(name)
        return
    for path in _files(target):
        if is_shared_object(path) and os.path.getsize(path):
            with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
                yield path, data


def inspect(name: str, data: Any) -> dict[str, Any]:
    """One shared object: ``{"file", "kind", "functions", "missing", "torch", "versions", "cuda", "machine"}``.

    kind      "stable ABI", "C++ ABI", "none", or "unreadable: why"
    torch     the oldest PyTorch that has all functions it uses ("2.13"); "" where it uses none
    missing   functions of the stable ABI that are not in this project
    versions  {"GLIBC": "2.27", …}: what the system must have at least
    """
    from shim_torch._impl.extensions import elf, load

    row: dict[str, Any] = {"file": name, "kind": "none", "functions": [], "missing": [], "torch": "", "versions": {}}
    row.update(cuda=[], machine="", symbols=0)
    try:
        tables = elf.parse(data)
    except ValueError as error:
        return {**row, "kind": f"unreadable: {error}"}
    kind, symbols = load.classify(tables)
    row.update(kind=kind, versions=tables.versions, machine=tables.machine, symbols=len(symbols))
    row["cuda"] = [n for n in tables.needed if load.package_of(n) or n.startswith("libcuda.so")]
    if kind == "stable ABI":
        row["functions"] = symbols
        row["missing"] = sorted(set(symbols) - load.exported())
        major, minor = max(map(release_of, symbols), default=(2, 9))
        row["torch"] = f"{major}.{minor}"
    return row


def scan(target: str) -> list[dict[str, Any]]:
    """:func:`inspect` of every shared object of ``target``, those that do not use torch too, for their versions."""
    return [inspect(name, data) for name, data in shared_objects(target)]


def lines(rows: list[dict[str, Any]]) -> Iterator[str]:
    """The table as text: one line an object, and one for what is missing."""
    for row in rows:
        kind = row["kind"]
        if kind == "stable ABI":
            kind += f", {row['symbols']} functions, PyTorch >= {row['torch']}"
        elif kind == "C++ ABI":
            kind += f", {row['symbols']} symbols: needs a build from source, or PyTorch"
        elif kind == "none":
            kind = "no torch"
        needs = [
            f"{name} {version}"
            for name, version in sorted(row["versions"].items())
            if name in ("GLIBC", "GLIBCXX", "CXXABI")
        ]
        yield f"{row['file']}: {kind}" + (f" ({', '.join([*needs, *row['cuda']])})" if needs or row["cuda"] else "")
        if row["missing"]:
            yield f"    missing here: {', '.join(row['missing'])}"
