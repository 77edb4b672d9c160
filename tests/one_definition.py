#!/usr/bin/env python3
"""Finds classes of one name that are defined twice: a linker takes either for both (the one-definition rule).

Looks at what is outside of functions, classes and anonymous namespaces. Compilers see a file at a time, so none warns.
"""

import collections
import pathlib
import re
import sys

ROOMS = ("sampling", "nets", "stages", "pipeline")
TOKEN = re.compile(
    r"namespace\s*(?P<space>[\w:]*)\s*\{|(?P<brace>[{}])"
    r"|\b(?:struct|class)\s+(?:FT_\w+(?:\([^)]*\))?\s+)?(?P<name>[\w:]+)\s*(?:final\s*)?(?::[^;{}()]*)?(?=\{)"
)
IGNORED = re.compile(r'//[^\n]*|/\*.*?\*/|R"\((?:.|\n)*?\)"|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])\'', re.S)


def defined_in(text):
    """Yields the full names of classes in namespaces that have names."""
    scopes = []
    for token in TOKEN.finditer(IGNORED.sub(" ", text)):
        if token["brace"] == "{":
            scopes.append(None)
        elif token["brace"] == "}":
            if scopes:
                scopes.pop()
        elif token["name"]:
            if all(scopes):  # an anonymous namespace has an empty name
                yield "::".join([*scopes, token["name"]])
        else:
            scopes.append(token["space"])


def main():
    root = pathlib.Path(__file__).resolve().parent.parent
    places = collections.defaultdict(set)
    for room in ROOMS:
        for file in sorted((root / room).rglob("*")):
            if file.suffix in (".h", ".hpp", ".cpp", ".cu"):
                for name in defined_in(file.read_text()):
                    places[name].add(str(file.relative_to(root)))
    twice = {name: files for name, files in places.items() if len(files) > 1}
    for name, files in sorted(twice.items()):
        print(f"{name} is defined in {' and in '.join(sorted(files))}: call one of them by another name")
    print(f"one definition: {len(places)} classes, {len(twice)} defined twice")
    return 1 if twice or len(places) < 100 else 0


if __name__ == "__main__":
    sys.exit(main())
