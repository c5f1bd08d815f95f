# mutate.py - are the tests any good? Small faults are put into the library, one at a time, and the tests must notice
#
# usage: mutate.py [--seconds N] [--count N] [--seed N] [--least PERCENT] [--patience TIMES] [--build DIR] [FILE...]
#
# Each mutant changes one place of one file: an operator, a constant by one, a condition to its opposite, or a statement that is
# left out. It is built, and the fast suites run until one fails: killed; if none does: survived, and its diff is told. Those
# that change nothing that anybody could see are listed in equivalent.txt beside this file, as "file: line before => line after".
import argparse
import os
import pathlib
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
FILES = ["lib/file/*.c", "lib/kind/*.c", "lib/guard.c", "lib/sync.c", "lib/change.c", "lib/replace.c", "lib/drop.c"]
# in the order of how soon they notice; name of the program: how long it may take
SUITES = [("test-file-image", 30), ("test-file-lock", 30), ("test-file-publish", 30), ("test-file-system", 30), ("test-file-where", 30), ("test-simd", 60), ("test-combine", 30), ("test-data", 30),
          ("test-memory", 30), ("test-clear", 30), ("test-file-sigbus", 30), ("test-place", 30), ("test-limits", 60), ("test-inject", 60),
          ("test-files", 60), ("test-guard", 60), ("test-seal", 60), ("test-store", 60), ("test-repair", 60), ("test-strays", 60), ("test-leftovers", 60),
          ("test-claim", 60), ("test-kind-laws", 60)]
SCALE = "0.02"

OPERATORS = {"<": ["<=", ">="], ">": [">=", "<="], "<=": ["<"], ">=": [">"], "==": ["!="], "!=": ["=="], "&&": ["||"], "||": ["&&"],
             "+": ["-"], "-": ["+"], "*": ["+"], "/": ["*"], "%": ["/"], "&": ["|"], "|": ["&"], "^": ["|"], "<<": [">>"], ">>": ["<<"],
             "+=": ["-="], "-=": ["+="], "|=": ["&="], "&=": ["|="]}
TOKEN = re.compile(r'"(?:\\.|[^"\\])*"|\'(?:\\.|[^\'\\])*\'|//.*|/\*.*?\*/|(?P<number>\b\d+\b(?![.xX]))'
                   r'|(?P<operator> (?:<=|>=|==|!=|&&|\|\||<<|>>|\+=|-=|\|=|&=|[-+*/%&|^<>]) )')
STATEMENT = re.compile(r"^\t+(?!return|goto|break|continue|else|case|default|struct|int |uint|static|const|bool |char |size_t|enum|double|off_t)"
                       r"[\w*].*;(\s*/\*.*\*/)?$")
CONDITION = re.compile(r"\b(if|while) \((?P<inside>.*)\)(?= [^()]*$|$)")


def code_lines(text):
    """numbers of the lines that are inside a function and no comment"""
    inside = comment = False
    for number, line in enumerate(text):
        if line.startswith("{"):
            inside = True
        elif line.startswith("}"):
            inside = False
        began = comment
        if "/*" in line and "*/" not in line.split("/*", 1)[1]:
            comment = True
        elif comment and "*/" in line:
            comment = False
        if inside and not began and not comment and not line.startswith(("{", "#")) and "assert(" not in line and "blm_fail(" not in line:
            yield number


def mutations_of(line):
    for found in TOKEN.finditer(line):
        if found["number"]:
            for other in (int(found[0]) + 1, int(found[0]) - 1):
                if other >= 0:
                    yield line[:found.start()] + str(other) + line[found.end():]
        elif found["operator"]:
            for other in OPERATORS[found[0].strip()]:
                yield line[:found.start()] + f" {other} " + line[found.end():]
    found = CONDITION.search(line)
    if found and "/*" not in line:
        yield line[:found.start("inside")] + f"!({found['inside']})" + line[found.end("inside"):]
    if STATEMENT.match(line):
        yield re.match(r"\t+", line)[0] + ";"


def all_mutants(names):
    for pattern in names:
        for path in sorted(ROOT.glob(pattern)):
            text = path.read_text(encoding="utf-8").split("\n")
            for number in code_lines(text):
                for changed in dict.fromkeys(mutations_of(text[number])):
                    if changed != text[number]:
                        yield str(path.relative_to(ROOT)), number, text[number], changed


class Bench:
    """a copy of the sources with a build of its own, in which files are changed and changed back"""

    def __init__(self, build, patience):
        self.patience = patience
        self.source = pathlib.Path(build, "source")
        self.build = pathlib.Path(build, "build")
        if self.source.exists():
            shutil.rmtree(self.source)
        listed = subprocess.run(["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT, capture_output=True, text=True, check=True)
        for name in listed.stdout.splitlines():
            if (ROOT / name).is_file():
                to = self.source / name
                to.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(ROOT / name, to)
        if not (self.build / "build.ninja").exists():
            subprocess.run(["meson", "setup", "-Dtests=enabled", "-Dwerror=false", "-Dbuildtype=plain", "-Dc_args=-O1", str(self.build),
                            str(self.source)], check=True, stdout=subprocess.DEVNULL)
        self.programs = {p.name: p for p in self.build.rglob("test-*") if p.is_file() and os.access(p, os.X_OK)}
        self.targets = []

    def make(self):
        targets = subprocess.run(["ninja", "-C", str(self.build), "-t", "targets", "all"], capture_output=True, text=True, check=True)
        wanted = {name for name, _ in SUITES}
        self.targets = [line.split(":")[0] for line in targets.stdout.splitlines() if line.split(":")[0].split("/")[-1] in wanted]
        self.programs = {t.split("/")[-1]: self.build / t for t in self.targets}
        return self.compiles()

    def compiles(self):
        return subprocess.run(["ninja", "-C", str(self.build), "-j2", *self.targets], capture_output=True).returncode == 0

    def write(self, name, number, line):
        path = self.source / name
        text = path.read_text(encoding="utf-8").split("\n")
        text[number] = line
        path.write_text("\n".join(text), encoding="utf-8")

    def passes(self, name, seconds):
        """does this suite pass, and end in time? Whatever it started is ended with it."""
        seconds *= self.patience
        environment = dict(os.environ, BLOOMERY_TEST_SCALE=SCALE, CK_VERBOSITY="silent", CK_DEFAULT_TIMEOUT=str(seconds // 2))
        with tempfile.TemporaryDirectory(dir="/dev/shm" if os.access("/dev/shm", os.W_OK) else None) as folder:
            environment["TMPDIR"] = folder
            process = subprocess.Popen([str(self.programs[name])], env=environment, cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                       stderr=subprocess.DEVNULL, start_new_session=True)
            try:
                return process.wait(timeout=seconds) == 0
            except subprocess.TimeoutExpired:
                process.terminate()  # then Check ends the processes of its tests as well, which have groups of their own
                try:
                    process.wait(timeout=5)
                except subprocess.TimeoutExpired:
                    pass
                return False
            finally:
                try:
                    os.killpg(process.pid, signal.SIGKILL)
                except ProcessLookupError:
                    pass
                process.wait()

    def killer(self):
        for name, seconds in SUITES:
            if name in self.programs and not self.passes(name, seconds):
                return name
        return None


def equivalent():
    path = ROOT / "tests/fault/equivalent.txt"
    return {line for line in path.read_text(encoding="utf-8").splitlines() if line and not line.startswith("#")} if path.exists() else set()


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--seconds", type=float, help="begin no mutant after this many seconds")
    options.add_argument("--count", type=int, help="at most so many mutants")
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--least", type=float, default=0, help="fail where fewer percent are killed")
    options.add_argument("--patience", type=int, default=1, help="a suite may take so many times as long as on an idle machine")
    options.add_argument("--build", default=None, help="a folder to keep between runs")
    options.add_argument("files", nargs="*")
    given = options.parse_args()
    begun = time.monotonic()
    build = given.build or tempfile.mkdtemp(prefix="bloomery-mutate-")
    bench = Bench(build, given.patience)
    if not bench.make():
        sys.exit("the tests do not build")
    weak = [name for name, seconds in SUITES if name in bench.programs and not bench.passes(name, seconds)]
    if weak:
        sys.exit(f"these fail without any mutant: {', '.join(weak)}")
    mutants = list(all_mutants(given.files or FILES))
    total = len(mutants)
    random.Random(given.seed).shuffle(mutants)
    excused = equivalent()
    killed, survived, broken, known = {}, [], 0, 0
    for name, number, before, after in mutants[:given.count]:
        if given.seconds and time.monotonic() - begun > given.seconds:
            break
        if f"{name}: {before.strip()} => {after.strip()}" in excused:
            known += 1
            continue
        bench.write(name, number, after)
        if not bench.compiles():
            broken += 1
        else:
            by = bench.killer()
            if by:
                killed[by] = killed.get(by, 0) + 1
            else:
                survived.append((name, number, before, after))
                print(f"survived: {name}:{number + 1}\n-{before}\n+{after}", flush=True)
        bench.write(name, number, before)
    if not given.build:
        shutil.rmtree(build, ignore_errors=True)
    tried = sum(killed.values()) + len(survived)
    by = ", ".join(f"{name} {count}" for name, count in sorted(killed.items(), key=lambda item: -item[1]))
    print(f"{tried} of {total} mutants: {sum(killed.values())} killed ({by}), {len(survived)} survived, {broken} not compiling, "
          f"{known} known to change nothing; {100 * sum(killed.values()) / max(tried, 1):.0f} % killed")
    return 100 * sum(killed.values()) < given.least * tried


sys.exit(main())
