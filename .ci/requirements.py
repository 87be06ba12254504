"""What an installation with the extras named as arguments needs, one requirement a line, for ``pip install -r``.

Nothing is printed where this Python has no reader of TOML: pip then fetches all of it with the project itself.
"""

import sys

try:
    import tomllib
except ImportError:  # Python 3.10: pip brings one
    try:
        import pip._vendor.tomli as tomllib
    except ImportError:
        sys.exit()

with open("pyproject.toml", "rb") as file:
    project = tomllib.load(file)["project"]
for requirement in project["dependencies"] + [
    one for extra in sys.argv[1:] for one in project["optional-dependencies"][extra]
]:
    print(requirement)
