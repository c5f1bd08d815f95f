# uncovered.py - the lines and branches of lib/ that the tests took, by file; the list has each branch that none took, with its reason
#
# usage: uncovered.py COVERAGE.JSON ROOT LIST LEAST. The first is the output of `llvm-cov export` for all programs of the tests. A branch is
# one outcome of one condition. A line of LIST is "file: function: condition: outcome", once for each place with that name; the reason is in
# the comment above it. Fails if fewer than LEAST percent were taken, if a line names a branch that does not exist, or if more than a few
# are missing from the list: some are taken by chance, with processes that race, and another run of the same tests misses another few.
import collections
import json
import os
import pathlib
import sys

OUTCOMES = ("true", "false")
BY_CHANCE = 20
BELOW_NOTHING = (1 << 63) - 1   # so llvm-cov exports a difference of counts that is below 0: a process was killed between the two


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
            for i, count in enumerate((true, false)):
                one[i] += count if count < BELOW_NOTHING else 0
    return sums


def lines_of(segments):
    """{line: was it run?} of those that have code, as llvm-cov shows them: a segment says how often what begins there was run"""
    by_line, lines, before = collections.defaultdict(list), {}, None
    for segment in segments:
        by_line[segment[0]].append(segment)
    for line in range(segments[0][0], segments[-1][0] + 1) if segments else ():
        here = by_line.get(line, [])
        entries = [count for _, _, count, has_count, is_entry, is_gap in here if has_count and is_entry and not is_gap]
        goes_on = before is not None and before[3]
        is_skipped = bool(here) and not here[0][3] and here[0][4]
        if not is_skipped and (goes_on or entries):
            lines[line] = max([before[2] if goes_on else 0, *entries]) > 0
        before = here[-1] if here else before
    return lines


def all_lines(files, root):
    """{file: {line: was it run?}}: in any of the programs"""
    sums = collections.defaultdict(dict)
    for file in files:
        path = pathlib.Path(os.path.normpath(file["filename"]))
        if path.is_relative_to(root / "lib"):
            lines = sums[str(path.relative_to(root))]
            for line, was_run in lines_of(file["segments"]).items():
                lines[line] = lines.get(line, False) or was_run
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
    taken, of, unlisted, reasoned, there = collections.Counter(), collections.Counter(), [], 0, set()
    for (name, place), (*counts, function) in sorted(branches.items()):
        if sources[name][place[0] - 1].lstrip().startswith("assert("):
            continue
        condition = text_between(sources[name], *place)
        of[name] += 2
        for outcome, count in zip(OUTCOMES, counts):
            entry = f"{name}: {function}: {condition}: {outcome}"
            there.add(entry)
            if count:
                taken[name] += 1
            elif excused[entry]:
                excused[entry] -= 1
                reasoned += 1
            else:
                unlisted.append((name, place[0], entry))
    lines = all_lines(exported["files"], root)
    print(f"{'file':34} {'branches':>16} {'lines':>16}")
    for name in sorted(of.keys() | lines.keys()):
        run, all_of = sum(lines[name].values()), len(lines[name])
        print(f"{name:34} {taken[name]:5}/{of[name]:<5}{share(taken[name], of[name]):5.1f} % {run:5}/{all_of:<5}{share(run, all_of):5.1f} %")
    for entry in (+excused).elements():
        print(f"taken after all: {entry}")
    gone = sorted(set(excused) - there)
    for entry in gone:
        print(f"listed, and not there: {entry}")
    for name, line, entry in unlisted:
        print(f"not taken, and not listed ({name}:{line}): {entry}")
    run, all_of = sum(sum(one.values()) for one in lines.values()), sum(map(len, lines.values()))
    print(f"{share(run, all_of):.1f} % of {all_of} lines")
    rate = share(sum(taken.values()), sum(of.values()))
    print(f"{rate:.1f} % of {sum(of.values())} branches; of the others {reasoned} are listed with reasons, {len(unlisted)} are not")
    return rate < float(least) or len(unlisted) > BY_CHANCE or bool(gone)


sys.exit(main())
