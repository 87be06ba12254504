"""A repository of GitHub as a folder: which of its branches, whether it is trusted, its archive."""

from __future__ import annotations

import json
import os
import shutil
import sys
import zipfile
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.request import Request
from warnings import warn

from shim_torch import hub
from shim_torch._impl.hub.download import ENV_GITHUB_TOKEN, extract

_TRUSTED_OWNERS = ("facebookresearch", "facebookincubator", "pytorch", "fairinternal")


def parts_of(github: str) -> tuple[str, str, str]:
    """ "owner/name[:ref]" -> (owner, name, ref). Without a ref: main where there is one, else master; what is kept, offline."""
    repository, _, ref = github.partition(":")
    owner, name = repository.split("/")
    if ref:
        return owner, name, ref
    try:
        with hub.urlopen(f"https://github.com/{owner}/{name}/tree/main/"):
            return owner, name, "main"
    except HTTPError as error:
        if error.code == 404:
            return owner, name, "master"
        raise
    except URLError as error:
        for kept in ("main", "master"):
            if os.path.exists(os.path.join(hub.get_dir(), f"{owner}_{name}_{kept}")):
                return owner, name, kept
        raise RuntimeError(
            f"It looks like there is no internet connection and the repo could not be found in the cache ({hub.get_dir()})"
        ) from error


def _page(url: str, headers: dict[str, str]) -> Any:
    with hub.urlopen(Request(url, headers=headers)) as answer:
        return json.loads(answer.read().decode(answer.headers.get_content_charset("utf-8")))


def check_not_of_a_fork(owner: str, name: str, ref: str) -> None:
    """ValueError for a ref that is none of the repository's branches, tags or their commits: a fork's is served there too."""
    headers = {"Accept": "application/vnd.github.v3+json"}
    if token := os.environ.get(ENV_GITHUB_TOKEN):
        headers["Authorization"] = f"token {token}"
    for kind in ("branches", "tags"):
        number = 0
        while True:
            number += 1
            url = f"https://api.github.com/repos/{owner}/{name}/{kind}?per_page=100&page={number}"
            try:
                found = _page(url, headers)
            except HTTPError:
                if headers.pop("Authorization", None) is None:
                    raise
                found = _page(url, headers)  # the token may have too few permissions
            if not found:
                break
            if any(one["name"] == ref or one["commit"]["sha"].startswith(ref) for one in found):
                return
    raise ValueError(
        f"Cannot find {ref} in https://github.com/{owner}/{name}. "
        "If it's a commit from a forked repo, please call hub.load() with forked repo directly."
    )


def check_trusted(owner: str, name: str, kept_as: str, trust_repo: Any) -> None:
    """Asks where the repository is not known to be trusted (``"check"``) or always (False); who agrees is remembered."""
    folder = hub.get_dir()
    listed = os.path.join(folder, "trusted_list")
    known: list[str] = []
    if os.path.exists(listed):
        with open(listed, encoding="utf-8") as file:
            known = file.read().split()
    whole = f"{owner}_{name}"
    trusted = whole in known or os.path.isdir(os.path.join(folder, kept_as)) or owner in _TRUSTED_OWNERS
    if trust_repo is False or (trust_repo == "check" and not trusted):
        answer = input(
            f"The repository {whole} does not belong to the list of trusted repositories and as such cannot be downloaded. "
            "Do you trust this repository and wish to add it to the trusted list of repositories (y/N)?"
        ).lower()
        if answer in ("n", "no", ""):
            raise Exception("Untrusted repository.")
        if answer not in ("y", "yes"):
            raise ValueError(f"Unrecognized response {answer}.")
        if trusted:
            print("The repository is already trusted.")
    if not trusted:
        with open(listed, "a", encoding="utf-8") as file:
            file.write(whole + "\n")


def _remove(path: str) -> None:
    if os.path.isdir(path):
        shutil.rmtree(path)
    elif os.path.exists(path):
        os.remove(path)


def _download(owner: str, name: str, ref: str, path: str) -> None:
    def fetch(which: str) -> None:
        url = f"https://github.com/{owner}/{name}/zipball/{which}"
        sys.stdout.write(f'Downloading: "{url}" to {path}\n')
        hub.download_url_to_file(url, path, progress=False)

    try:
        fetch(ref)
    except HTTPError as error:
        if error.code != 300:
            raise
        warn(
            f"The ref {ref} is ambiguous. Perhaps it is both a tag and a branch in the repo? Torchhub will now assume that it's a "
            "branch. You can disambiguate tags and branches by explicitly passing refs/heads/branch_name or refs/tags/tag_name as "
            "the ref. That might require using skip_validation=True.",
            stacklevel=2,
        )
        fetch(f"refs/heads/{ref}")


def folder_of(github: str, force_reload: bool, trust_repo: Any, verbose: bool, skip_validation: bool) -> str:
    """The folder of a repository's files: the one that is kept, or downloaded now."""
    folder = hub.get_dir()
    os.makedirs(folder, exist_ok=True)
    owner, name, ref = parts_of(github)
    kept_as = "_".join((owner, name, ref.replace("/", "_")))  # a branch's name may have slashes
    kept = os.path.join(folder, kept_as)
    check_trusted(owner, name, kept_as, trust_repo)
    if not force_reload and os.path.exists(kept):
        if verbose:
            sys.stderr.write(f"Using cache found in {kept}\n")
        return kept
    if not skip_validation:
        check_not_of_a_fork(owner, name, ref)
    path = os.path.join(folder, f"{ref.replace('/', '_')}.zip")
    _remove(path)
    _download(owner, name, ref, path)
    with zipfile.ZipFile(path) as archive:
        inside = os.path.join(folder, archive.infolist()[0].filename.split("/")[0])
        _remove(inside)
        extract(archive, folder)
    _remove(path)
    _remove(kept)
    shutil.move(inside, kept)
    return kept
