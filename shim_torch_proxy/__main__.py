"""``python -m compat doctor | run | scan | coverage | provide``."""

from __future__ import annotations

import argparse
import os
import sys


class _Version(argparse.Action):
    def __init__(self, option_strings: list[str], dest: str) -> None:
        super().__init__(option_strings, dest, nargs=0, help="the version of shim-torch")

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        from importlib.metadata import PackageNotFoundError, version

        try:
            print(f"shim-torch {version('shim-torch')}")
        except PackageNotFoundError:
            print("shim-torch (a source tree that is not installed)")
        parser.exit()


def parser() -> argparse.ArgumentParser:
    """The command line."""
    top = argparse.ArgumentParser(prog="python -m compat", description="torch for kernel libraries, without PyTorch")
    top.add_argument("--version", action=_Version)
    commands = top.add_subparsers(dest="command", required=True)
    doctor = commands.add_parser("doctor", help="versions, devices, what works here and what to install")
    doctor.add_argument("--json", action="store_true")
    run = commands.add_parser("run", help="run an unmodified script or module")
    run.add_argument("--scope", action="append", help="packages that get torch (comma separated); default: all")
    run.add_argument("--version", help="what torch.__version__ says")
    run.add_argument("--no-children", action="store_true", help="Python programs that it starts get no torch from us")
    kind = run.add_mutually_exclusive_group()
    kind.add_argument("-m", dest="module", action="store_true", help="the target is a module name")
    kind.add_argument("-c", dest="program", action="store_true", help="the target is a program")
    run.add_argument("target", help="script.py, - (standard input), a folder or zip file with __main__.py, or as -m or -c say")
    run.add_argument("arguments", nargs=argparse.REMAINDER).required = False
    scan = commands.add_parser("scan", help="which torch names a package, folder, file or wheel uses")
    scan.add_argument("target")
    scan.add_argument("--json", action="store_true")
    coverage = commands.add_parser("coverage", help="how much of PyTorch's public surface is here, part by part")
    coverage.add_argument("--missing", metavar="PART", help="the names of one part, torch.nn say, that are not here")
    provide = commands.add_parser("provide", help="tell pip that torch is installed (metadata only)")
    provide.add_argument("--remove", action="store_true")
    provide.add_argument("--version", default=None)
    return top


def main(arguments: list[str] | None = None) -> int:
    """Runs one command; the exit status."""
    from shim_torch_proxy import child

    options = parser().parse_args(arguments)
    child.leave()  # this command says itself what is to be enabled
    if options.command == "run":
        from shim_torch_proxy.cli import run

        return run.main(
            options.target,
            options.arguments,
            options.module,
            options.scope,
            options.version,
            options.program,
            children=not options.no_children,
        )
    try:
        status = _report(options)
        sys.stdout.flush()
    except BrokenPipeError:  # "| head" has read enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    return status


def _report(options: argparse.Namespace) -> int:
    if options.command == "scan":
        from shim_torch_proxy.cli import scan

        return scan.main(options.target, options.json)
    if options.command == "coverage":
        from shim_torch_proxy.cli import coverage

        return coverage.main(options.missing)
    if options.command == "provide":
        from shim_torch_proxy.cli import provide

        return provide.main(options.remove, options.version)
    from shim_torch_proxy.cli import doctor

    return doctor.main(options.json)


if __name__ == "__main__":
    sys.exit(main())
