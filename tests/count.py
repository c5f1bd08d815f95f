# count.py - reads the log of `meson test`: prints what failed, which tests took longest, and at the
# end how many subtests passed, failed and were skipped; exit 1 if anything failed
#
# usage: count.py BUILD/meson-logs [LOGBASE]
import json
import pathlib
import re
import sys

SUBTEST = re.compile(r"^(not )?ok\b[^#]*(#\s*(skip|todo)\b)?", re.I)
BAD = {"FAIL", "ERROR", "TIMEOUT", "INTERRUPT", "UNEXPECTEDPASS"}
LINES = 30  # of the reason of a subtest, and of what else a test said


def count(test):
    """passed, failed, skipped of one test program, which may speak TAP or not"""
    got = [0, 0, 0]
    for line in test.get("stdout", "").splitlines():
        found = SUBTEST.match(line)
        if not found:
            continue
        if found[3]:
            got[2] += 1
        else:
            got[1 if found[1] else 0] += 1
    if test["result"] in BAD:
        got[1] = max(got[1], 1)  # it died, took too long, or broke its plan
    elif not any(got):
        got[2 if test["result"] == "SKIP" else 0] = 1
    return got


def reasons(test):
    """the lines of each subtest that failed, as TAP has them: behind "not ok", after a #; without one, the last lines of all"""
    told, left = [], 0
    lines = test.get("stdout", "").splitlines()
    for line in lines:
        found = SUBTEST.match(line)
        if found:
            left = LINES if found[1] and not found[3] else 0
        if line.startswith("Bail out!") or left and (found or line.startswith("#")):
            told.append(line)
            left -= 1
    if not told:
        told = lines[-LINES:]
    return told + test.get("stderr", "").splitlines()[-LINES:]


def main():
    sys.stdout.reconfigure(errors="backslashreplace")
    base = sys.argv[2] if len(sys.argv) > 2 else "testlog"
    log = pathlib.Path(sys.argv[1], base + ".json")
    if not log.exists():
        print("no test was run", file=sys.stderr)
        return 2
    total, took = [0, 0, 0], []
    with log.open(encoding="utf-8", errors="replace") as lines:
        for line in lines:
            test = json.loads(line)
            got = count(test)
            took.append((test["duration"], test["name"].split(" / ")[-1]))
            total = [a + b for a, b in zip(total, got)]
            if got[1]:
                print(f"failed: {test['name']} ({test['result']})")
                print(*("    " + line for line in reasons(test)), sep="\n")
    longest = ", ".join(f"{name} {s:.0f} s" for s, name in sorted(took, reverse=True)[:12])
    print(f"The longest tests: {longest}")
    print("{} passed, {} failed, {} skipped".format(*total))
    return 0 if total[0] and not total[1] else 1


sys.exit(main())
