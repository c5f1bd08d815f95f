#!/usr/bin/env python3
"""folders.py - the folders of lib/ are layers: includes and calls go down only

usage: folders.py SOURCE BUILD

The order of the layers is the list `folders` in lib/meson.build. Each line of output is a TAP result; a failure says
which file and line breaks the rule and what to do.
"""
import pathlib
import re
import subprocess
import sys

LONGEST = 60  # lines of a function
WIDEST = 100  # columns of a line, with tabs of 8
# What tools/ compiles of lib/ besides bloomery.h, until the library offers it.
SHARED_WITH_TOOLS = {"base/escape.h", "base/lazylib.h"}

source, build = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
lib = source / "lib"


def layers():
    text = (lib / "meson.build").read_text()
    return re.findall(r"'(\w+)'", re.search(r"^folders = \[(.*?)\]", text, re.M | re.S).group(1))


RANK = {name: i for i, name in enumerate(layers())}


def files(folder, *suffixes):
    return sorted(f for f in folder.rglob("*") if f.suffix in suffixes)


def includes(file):
    for number, line in enumerate(file.read_text().splitlines(), 1):
        found = re.match(r'\s*#\s*include "([^"]+)"', line)
        if found:
            yield number, found.group(1)


def files_without_a_folder():
    """Only bloomery.h stands in lib/ itself, and each folder is a layer."""
    for file in files(lib, ".c", ".h"):
        folder = file.relative_to(lib).parts[0]
        if folder not in RANK and file.name != "bloomery.h":
            yield f"{file}: is in no layer; move it into a folder, and name that in lib/meson.build"


def includes_that_go_up():
    """A file includes headers of its own folder and of lower ones only."""
    for file in files(lib, ".c", ".h"):
        folder = file.relative_to(lib).parts[0]
        for number, name in includes(file):
            other = name.split("/")[0]
            if other in RANK and folder in RANK and RANK[other] > RANK[folder]:
                yield f"{file}:{number}: includes {name} from the higher folder {other}/; move what it needs down, or itself up"


def named(head, word):
    """The folders after that word in the comment at the head of a folder's meson.build."""
    found = re.search(rf"^# {word}: (.*?)\.$", head, re.M | re.S)
    return [name for name in re.findall(r"\w+", found.group(1)) if name in RANK] if found else None


def heads_that_are_wrong():
    """The first lines of a folder's meson.build: what it is, which folders it uses, and which use it."""
    uses = {folder: {name.split("/")[0] for file in files(lib / folder, ".c", ".h") for _, name in includes(file)} & set(RANK) - {folder}
            for folder in RANK}
    for folder in RANK:
        file = lib / folder / "meson.build"
        head = file.read_text().split("\n\n")[0]
        if not head.startswith(f"# {folder}/\n") or head.count("\n") > 10:
            yield f"{file}:1: does not begin with a comment of at most ten lines, \"# {folder}/\" first"
        for word, true in ("Uses", uses[folder]), ("Used by", {other for other in RANK if folder in uses[other]}):
            if set(named(head, word) or ()) != true:
                yield f"{file}: write \"# {word}: {', '.join(sorted(true, key=RANK.get)) or '-'}.\" there, which is what is included"


def symbols(folder):
    """(object, kind, symbol) of a folder's static library."""
    archive = build / "lib" / f"libbloomery-{folder}.a"
    listed = subprocess.run(["nm", "-A", archive], check=True, capture_output=True, text=True).stdout
    for line in listed.splitlines():
        place, _, rest = line.rpartition(":")
        words = rest.split()
        yield place.rsplit(":", 1)[-1], words[-2], words[-1]


def calls_that_go_up():
    """What a folder's library does not define itself is defined in a lower folder, or outside of lib/."""
    seen = {folder: list(symbols(folder)) for folder in RANK}
    defined = {s: (folder, place) for folder, all_of_it in seen.items() for place, kind, s in all_of_it if kind in "TBDRVC"}
    for folder, all_of_it in seen.items():
        for place, kind, symbol in all_of_it:
            other = defined.get(symbol, (folder,))
            if kind == "U" and RANK[other[0]] > RANK[folder]:
                yield f"{folder}/{place}: uses {symbol} of {other[0]}/{other[1]}, which is higher; move one of the two"


def names_that_stand_twice():
    """A debugger, a grep or a stack trace shows base names: each stands once in lib/."""
    seen = {}
    for file in files(lib, ".c", ".h"):
        if file.name in seen:
            yield f"{file}: {seen[file.name]} has the same name; rename one of the two"
        seen[file.name] = file


def insides_that_tools_include():
    """The program, the bindings and the modules use bloomery.h only."""
    for file in files(source / "tools", ".c", ".h"):
        for number, name in includes(file):
            if name not in SHARED_WITH_TOOLS and not (file.parent / name).exists() and not (source / "tools" / name).exists() \
                    and (lib / name).exists() and name != "bloomery.h":
                yield f"{file}:{number}: includes {name}, which is the library's own; use bloomery.h"


def zeros_that_take_space():
    """A long const array without a value is stored in the library's file, as zeros."""
    for file in files(lib, ".c", ".h"):
        for number, line in enumerate(file.read_text().splitlines(), 1):
            if re.match(r"\s*(_Alignas\(\w+\) )?(static )?(_Alignas\(\w+\) )?const [\w ]+\w\[(?!\d\d?\])[^]]*\];", line):
                yield f"{file}:{number}: const zeros, which the file of the library holds; use blm_zeros of file/os.h"


def functions_that_are_long():
    """A function is read without scrolling."""
    for file in files(lib, ".c", ".h") + files(source / "tools", ".c", ".h"):
        begun = 0
        for number, line in enumerate(file.read_text().splitlines(), 1):
            if line == "{":
                begun = number
            elif line == "}" and begun:
                if number - begun + 1 > LONGEST:
                    yield f"{file}:{begun}: a function of {number - begun + 1} lines; split it, {LONGEST} are the most"
                begun = 0


def lines_that_are_wide():
    """Two files fit side by side on a screen."""
    for file in [f for folder in ("lib", "tools", "tests") for f in files(source / folder, ".c", ".h", ".cc")]:
        for number, line in enumerate(file.read_text().splitlines(), 1):
            if len(line.expandtabs(8)) > WIDEST:
                yield f"{file}:{number}: {len(line.expandtabs(8))} columns; break it, {WIDEST} are the most"


CHECKS = {
    "each file of lib/ is in the folder of its layer": files_without_a_folder,
    "includes go down": includes_that_go_up,
    "calls go down": calls_that_go_up,
    "each folder says what it is, uses, and serves": heads_that_are_wrong,
    "each base name stands once in lib/": names_that_stand_twice,
    "tools/ uses bloomery.h only": insides_that_tools_include,
    "no long array of lib/ is const zeros": zeros_that_take_space,
    f"no line of C has more than {WIDEST} columns": lines_that_are_wide,
    f"no function has more than {LONGEST} lines": functions_that_are_long,
}

print(f"1..{len(CHECKS)}")
for number, (says, check) in enumerate(CHECKS.items(), 1):
    wrong = list(check())
    for line in wrong:
        print(f"# {line}")
    print(f"{'not ok' if wrong else 'ok'} {number} - {says}")
sys.exit(0)
