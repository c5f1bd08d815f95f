#!/usr/bin/env python3
"""pages.py - the manual page of each command, from the options of the program and the text beside this file

usage: pages.py PROGRAM OUTPUT-FOLDER TEXT...

A TEXT is commands/NAME.mdoc: the date, the description, and then for some options the line
`.\\" --OPTION` and what the page says of it beyond `bloomery help NAME`. More examples follow the line
`.\\" --examples`. The line `.\\" --see PAGE.SECTION...` names the pages of SEE ALSO beside bloomery(1).
"""
import pathlib
import subprocess
import sys


def split(text):
    """{mark: lines}: what stands before the first mark is the text of the page."""
    parts, mark = {"text": []}, "text"
    for line in text.splitlines():
        if line.startswith('.\\" --see '):
            parts["--see"] = [".Xr " + " ".join(name.rsplit(".", 1)) + " ," for name in line.split()[2:]]
            parts["--see"][-1] = parts["--see"][-1][:-2]
        elif line.startswith('.\\" --'):
            mark = line[4:]
            parts[mark] = []
        else:
            parts[mark].append(line)
    return parts


def page(program, text):
    made = subprocess.run([program, "help", "--mdoc", text.stem], check=True, stdout=subprocess.PIPE, text=True).stdout
    parts = split(text.read_text())
    date, parts["text"] = parts["text"][0], parts["text"][1:]
    if not date.startswith(".Dd "):
        raise SystemExit(f"{text}: line 1: is no date; begin with .Dd")
    lines = [f'.\\" bloomery-{text.stem}.1 - made from the program and {text.parent.name}/{text.name}', date]
    for line in made.splitlines():
        mark = line[4:] if line.startswith('.\\" ') else None
        if mark == "--see" and mark in parts:
            lines[-1] += " ,"
        lines += [line] if mark is None else parts.pop(mark, [])
    if parts:
        raise SystemExit(f"{text}: {text.stem} has no option {', '.join(parts)}; remove the text")
    return "\n".join(lines) + "\n"


program, folder, *texts = sys.argv[1:]
for text in map(pathlib.Path, texts):
    pathlib.Path(folder, f"bloomery-{text.stem}.1").write_text(page(program, text))
