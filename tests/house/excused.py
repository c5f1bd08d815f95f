#!/usr/bin/env python3
"""excused.py - the lists of branches that no test takes and of mutants that change nothing name code that there is

usage: excused.py SOURCE

tests/fault/uncovered.txt and tests/fault/equivalent.txt are compared with what the compiler says only by .ci/run --long.
This test compares their text with the sources: a name that was changed must change here too. Each line of output is a
TAP result.
"""
import functools
import pathlib
import re
import sys

source = pathlib.Path(sys.argv[1])


def squeezed(text):
    """Without spaces, comments, and the ends of strings that go on."""
    return re.sub(r"\s+", "", re.sub(r'"\s*"', "", re.sub(r"(?s)/\*.*?\*/", "", text)))


@functools.cache
def text_of(file):
    path = source / file
    return path.read_text() if path.exists() else ""


@functools.cache
def squeezed_text_of(file):
    return squeezed(text_of(file))


def entries(name, pattern):
    for number, line in enumerate((source / "tests/fault" / name).read_text().splitlines(), 1):
        if line and not line.startswith("#"):
            yield f"# tests/fault/{name}:{number}: {line}", re.fullmatch(pattern, line)


def branches_that_are_gone():
    for shown, found in entries("uncovered.txt", r"([^:]+): (\w+): (.*): (?:true|false)"):
        text = squeezed_text_of(found[1]) if found else ""
        if not found or found[2] + "(" not in text or squeezed(found[3]) not in text:
            yield shown


def lines_that_are_gone():
    for shown, found in entries("equivalent.txt", r"([^:]+): (.*) => (.*)"):
        if not found or found[2] not in [line.strip() for line in text_of(found[1]).splitlines()]:
            yield shown


print("1..2")
for number, (gone, sentence) in enumerate(((list(branches_that_are_gone()), "each branch of uncovered.txt is in the sources"),
                                           (list(lines_that_are_gone()), "each line of equivalent.txt is in the sources")), 1):
    print("".join(line + "\n" for line in gone), end="")
    print(f"{'not ok' if gone else 'ok'} {number} - {sentence}")
