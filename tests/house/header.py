#!/usr/bin/env python3
"""header.py - the comments of the public header are short

usage: header.py SOURCE

Each comment of lib/bloomery.h that begins with /** is its summary and at most PROSE_MAX lines of prose. Parameters (a
paragraph from @name on), paragraphs that begin with `Return:`, `Threads:` or `Processes:`, and tables and examples
(lines that begin with a tab) do not count. Move what is longer to the manual page of its subject. Each line of output
is a TAP result.
"""
import pathlib
import re
import sys

PROSE_MAX = 6
SUMMARY_MAX = 3

LABEL = re.compile(r"(?:@\w|(?:Return|Threads|Processes|Threads, processes):)")

NAMED = re.compile(r"(?:struct |enum )?blm_\w+(?:\(\))?(?:, blm_\w+\(\))*,?(?: -|$)")


def comments(text):
    """The comments that begin with /**, as (number of the first line, lines without their stars)."""
    for block in re.finditer(r"/\*\*\s.*?\*/", text, re.S):
        lines = [re.sub(r"^\s*(?:/\*\*|\*/|\*)[ ]?|\s*\*/$", "", line) for line in block[0].splitlines()]
        first = 0 if lines[0] else 1
        yield text.count("\n", 0, block.start()) + 1, lines[first:]


def measure(lines):
    """How many lines the summary has, and how many lines of prose follow."""
    part, summary, prose = "summary" if NAMED.match(lines[0]) else "prose", 0, 0
    for line in lines:
        if not line.strip():
            part = "prose"
        elif LABEL.match(line):
            part = "label"
        elif part == "summary":
            # Several functions may share a comment: each has a summary of its own.
            summary = 1 if NAMED.match(line) else summary + 1
        elif part == "prose" and not line.startswith("\t"):
            prose += 1
    return summary, prose


source = pathlib.Path(sys.argv[1])
measured = [(line, lines[0], *measure(lines)) for line, lines in comments((source / "lib/bloomery.h").read_text())]
long_prose = [c for c in measured if c[3] > PROSE_MAX]
long_summary = [c for c in measured if c[2] > SUMMARY_MAX]
print("1..2")
for line, text, summary, prose in long_prose:
    print(f"# lib/bloomery.h:{line}: {prose} lines of prose, at most {PROSE_MAX}: move facts to a manual page: {text}")
print(f"{'not ok' if long_prose or not measured else 'ok'} 1 - {len(measured)} comments have at most {PROSE_MAX} lines of prose")
for line, text, summary, prose in long_summary:
    print(f"# lib/bloomery.h:{line}: a summary of {summary} lines, at most {SUMMARY_MAX}: {text}")
print(f"{'not ok' if long_summary else 'ok'} 2 - summaries have at most {SUMMARY_MAX} lines")
