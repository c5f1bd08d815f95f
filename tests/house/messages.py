#!/usr/bin/env python3
"""messages.py - an error message has at most MOST characters, before names and numbers are put in

usage: messages.py SOURCE

A message says which file or value, what is wrong, and what to do. Move reasons and consequences to a manual page. Each
line of output is a TAP result.
"""
import pathlib
import re
import sys

MOST = 140

CALL = re.compile(r"\b(?:blm_fail|blm_found|broken|misuse|say)\s*\((.*?)\);", re.S)
STRINGS = re.compile(r'(?:"(?:[^"\\\n]|\\.)*"\s*)+')


def messages(file):
    """The longest string of each call that reports something, as (line, text)."""
    text = re.sub(r"(?s)/\*.*?\*/", lambda comment: "\n" * comment[0].count("\n"), file.read_text())
    for call in CALL.finditer(text):
        strings = ["".join(re.findall(r'"((?:[^"\\]|\\.)*)"', s)) for s in STRINGS.findall(call[1])]
        if strings:
            yield text.count("\n", 0, call.start()) + 1, max(strings, key=len)


source = pathlib.Path(sys.argv[1])
count, long = 0, []
for file in sorted(f for folder in ("lib", "tools") for f in (source / folder).rglob("*.c")):
    for line, text in messages(file):
        count += 1
        if len(text) > MOST:
            long.append(f"# {file.relative_to(source)}:{line}: {len(text)} characters, at most {MOST}: {text}")
print("1..1")
print("".join(line + "\n" for line in long), end="")
print(f"{'not ok' if long or not count else 'ok'} 1 - {count} messages have at most {MOST} characters")
