# uncovered.py - the branches of lib/ that no test took, by file; the list has each of them, with its reason
#
# usage: uncovered.py COVERAGE.JSON ROOT LIST LEAST. The first is what `llvm-cov export` tells of all programs of the tests. A branch
# is one outcome of one condition. A line of LIST is "file: function: condition: outcome", once for each place that is so called;
# the reason stands in the comment above it. Fails where fewer than LEAST percent were taken, or where more than a few are missing
# from the list: some are taken by chance, with processes that race, and another run of the same tests misses another few.
import collections
import json
import os
import pathlib
import sys

OUTCOMES = ("true", "false")
BY_CHANCE = 20


def listed(path):
    return collections.Counter(line.strip() for line in pathlib.Path(path).read_text(encoding="utf-8").splitlines()
                               if line and not line.startswith("#"))


def text_between(lines, begin_line, begin_column, end_line, end_column):
    """the source between these places, on one line"""
    part = [line.encode() for line in lines[begin_line - 1:end_line]]
    part[-1] = part[-1][:end_column - 1]
    part[0] = part[0][begin_column - 1:]
    return " ".join(b" ".join(part).decode().split())


def all_branches(functions, root):
    """{(file, place): [taken when true, when false, function]}: the sum over programs, and over copies of inline functions"""
    sums = {}
    for function in functions:
        for *place, true, false, file, _, _ in function.get("branches", ()):
            path = pathlib.Path(os.path.normpath(function["filenames"][file]))
            if not path.is_relative_to(root / "lib"):
                continue
            one = sums.setdefault((str(path.relative_to(root)), tuple(place)), [0, 0, function["name"].split(":")[-1]])
            one[0] += true
            one[1] += false
    return sums


def share(part, whole):
    return 100 * part / whole if whole else 100.0


def main():
    data, root, reasons, least = sys.argv[1:]
    root = pathlib.Path(root).resolve()
    excused = listed(reasons)
    exported = json.loads(pathlib.Path(data).read_text(encoding="utf-8"))["data"][0]
    branches = all_branches(exported["functions"], root)
    sources = {name: (root / name).read_text(encoding="utf-8").split("\n") for name, _ in branches}
    taken, of, unlisted, reasoned = collections.Counter(), collections.Counter(), [], 0
    for (name, place), (*counts, function) in sorted(branches.items()):
        if sources[name][place[0] - 1].lstrip().startswith("assert("):
            continue
        condition = text_between(sources[name], *place)
        of[name] += 2
        for outcome, count in zip(OUTCOMES, counts):
            entry = f"{name}: {function}: {condition}: {outcome}"
            if count:
                taken[name] += 1
            elif excused[entry]:
                excused[entry] -= 1
                reasoned += 1
            else:
                unlisted.append((name, place[0], entry))
    print(f"{'file':34} {'branches':>12}")
    for name in sorted(of):
        print(f"{name:34} {taken[name]:5}/{of[name]:<5}{share(taken[name], of[name]):5.1f} %")
    for entry in (+excused).elements():
        print(f"taken after all: {entry}")
    for name, line, entry in unlisted:
        print(f"not taken, and not listed ({name}:{line}): {entry}")
    rate = share(sum(taken.values()), sum(of.values()))
    print(f"{rate:.1f} % of {sum(of.values())} branches; of the others {reasoned} are listed with reasons, {len(unlisted)} are not")
    return rate < float(least) or len(unlisted) > BY_CHANCE


sys.exit(main())
