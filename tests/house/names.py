#!/usr/bin/env python3
"""names.py - the name of a test is a sentence of at most MOST words

usage: names.py SOURCE

A name is what the test shows when it fails: subject, verb, object. Cases and reasons go into a comment. Each line of
output is a TAP result.
"""
import pathlib
import re
import sys

MOST = 10

# How tests begin, by the end of a file's name.
TESTS = {
    ".c": r"^START_TEST\((\w+)\)",
    ".sh": r"^(\w+)\(\)",
    ".py": r"^ *def test_(\w+)\(",
}

source = pathlib.Path(sys.argv[1])
count, long = 0, []
for file in sorted(f for f in (source / "tests").rglob("*") if f.suffix in TESTS):
    for number, line in enumerate(file.read_text().splitlines(), 1):
        test = re.match(TESTS[file.suffix], line)
        if not test:
            continue
        count += 1
        words = len(test[1].strip("_").split("_"))
        if words > MOST:
            long.append(f"# {file.relative_to(source)}:{number}: {words} words, at most {MOST}: {test[1]}")
print("1..1")
print("".join(line + "\n" for line in long), end="")
print(f"{'not ok' if long or not count else 'ok'} 1 - {count} names of tests have at most {MOST} words")
