#!/usr/bin/env python3
"""test_walks.py - walks.py fails if a call goes through more files than is allowed, and counts what it says

usage: test_walks.py SOURCE

The walks here are made up, over files of lib that there are. Each line of output is a TAP result.
"""
import contextlib
import io
import pathlib
import re
import sys

sys.dont_write_bytecode = True
import walks

# How many files a reader opens to follow a call by a path, at most.
GOALS = {("blm_open", "path"): 12, ("blm_add_many", "path"): 8, ("blm_sync", "path"): 10}

LIB = pathlib.Path(sys.argv[1]).resolve() / "lib"
FILES = sorted(str(f.relative_to(LIB)) for f in LIB.rglob("*.c"))
results = []


def check(holds, sentence):
    results.append(holds)
    print(f"{'ok' if holds else 'not ok'} {len(results)} - {sentence}")


def through(count):
    """A walk through this many files. Each step is called by the one before it."""
    return [(f"step_{i}", file) for i, file in enumerate(FILES[:count])]


def failures(**longer):
    """How many calls fail if each goes through as many files as it may, and some through more."""
    calls = {call: through(most + longer.get("_".join(call), 0)) for call, most in walks.LIMITS.items()}
    with contextlib.redirect_stdout(io.StringIO()):
        return walks.judge(calls, LIB)


def read(walk):
    return list(walks.files_read(walk, LIB)[0])


print(f"1..{5 + 2 * len(GOALS)}")
for call, most in GOALS.items():
    check(walks.LIMITS[call] == most, f"{call[0]}() by a {call[1]} may go through {most} files")
    check(failures(**{"_".join(call): 1}) == 1, f"{call[0]}() through {most + 1} files fails")
check(failures() == 0, "calls that go through as many files as they may pass")
with contextlib.redirect_stdout(io.StringIO()):
    missing = walks.judge({call: through(1) for call in list(walks.LIMITS)[1:]}, LIB)
check(missing == 1, "a call that was not recorded fails")
first, second = FILES[:2]
check(read([("f", first), ("g", second), None, ("h", first)]) == [first, second], "a file is counted once")
answer = min(walks.TAKEN_AT_ITS_WORD)
check(read([("f", first), (answer, second), ("g", second), None, None]) == [first],
      "a function that is taken at its word is not counted, nor what it calls")
text = "".join((LIB / f).read_text() for f in FILES) + "".join(f.read_text() for f in LIB.rglob("*.h"))
missing = [name for name in sorted(walks.TAKEN_AT_ITS_WORD) if not re.search(rf"\b{name}\(", text)]
print("".join(f"# ANSWERS of walks.py names {name}(), which lib does not have\n" for name in missing), end="")
check(not missing, "each function that is taken at its word is in lib")
sys.exit(not all(results))
