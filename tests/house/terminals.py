#!/usr/bin/env python3
"""terminals.py - every test that needs a pseudo terminal skips where none can be had

A bare chroot has no /dev/pts. There such a test would fail for a reason that is not its subject.

usage: terminals.py SOURCE
"""
import pathlib
import re
import sys

FUNCTION = re.compile(r"^(\w+)\(\) \{\n(.*?)^\}\n", re.M | re.S)
NEEDS = re.compile(r"\b(on_terminal|on_screen|press_tab|bash_makes|zsh_makes)\b")


def unguarded(file):
    """The tests of a shell script that need a terminal and do not ask whether there is one."""
    for name, body in FUNCTION.findall(file.read_text()):
        if NEEDS.search(body) and "\tno_terminal && return\n" not in body:
            yield f"{file.name}: {name}: begin it with `no_terminal && return`"


def main():
    files = sorted(pathlib.Path(sys.argv[1], "tests/tools").glob("*.sh"))
    using = [file for file in files if NEEDS.search(file.read_text())]
    found = [line for file in files for line in unguarded(file)]
    print("1..2")
    print("ok" if len(using) > 3 else "not ok", "1 - tests that need a terminal are found")
    print("not ok" if found else "ok", "2 - each of them asks whether there is one")
    for line in found:
        print(f"# {line}")
    sys.exit(bool(found) or len(using) <= 3)


main()
