# mutate.py - are the tests any good? Small faults are put into the library, one at a time, and the tests must notice
#
# usage: mutate.py [--seconds N] [--count N] [--seed WORD] [--tried N] [--least PERCENT] [--build DIR] [FILE...]
#
# Each mutant changes one place of one file: an operator, a constant by one, a condition to its opposite, or a statement that is left out.
# It is built, and the fast suites run until a test fails: killed, if that suite passes without the mutant, which is checked at the end, for
# all together; if none fails: survived, and its diff is printed. The FILEs are patterns, which take turns, so each has the same share of a
# sample; the mutants follow from the seed, that is, from the commit if no seed is given. Mutants that change nothing visible are listed in
# equivalent.txt in this folder, as "file: line before => line after". A mutant with which the suites would take minutes is neither:
# undecided.
import argparse
import hashlib
import itertools
import os
import pathlib
import re
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
FILES = ["lib/file/*.c", "lib/kind/*.c", "lib/kind/common/*.c", "lib/durable/blocksum.c", "lib/durable/dirty.c", "lib/durable/flush.c",
         "lib/durable/locks.c", "lib/handle/lock_current.c", "lib/handle/quiesce.c", "lib/handle/standing.c", "lib/handle/sync.c",
         "lib/handle/write.c", "lib/make/replace.c", "lib/store/drop.c"]
# Those that notice most, soonest first. The suite that is named as the mutant's file goes before them.
SUITES = ["test-file-mapping", "test-file-ofd_lock", "test-file-new_file", "test-file-os", "test-file-filesystem", "test-file-sigbus", "test-owners",
          "test-place", "test-paths", "test-leftovers", "test-clear", "test-data", "test-verify", "test-strays", "test-combine", "test-parameters",
          "test-estimate", "test-filter",
          "test-seal", "test-inject", "test-memory", "test-limits", "test-repair", "test-store", "test-files", "test-claim", "test-kind-laws",
          "test-kind-laws_many", "test-kind-laws_algebra"]
SUITES_OF_KINDS = ["test-kind-laws", "test-kind-laws_many", "test-kind-laws_algebra", "test-kind-torn", "test-combine", "test-estimate", "test-filter",
                   "test-kind-built", "test-memory", "test-kind-parts", "test-kind-shapes", "test-kind-fuse", "test-simd"]
ASK_EACH_KIND = {"test-kind-laws", "test-kind-laws_many", "test-kind-laws_algebra", "test-kind-built", "test-kind-shapes"}  # these have a case for each kind
SCALE = "0.02"
# Seconds after which a test that has no limit of its own, and a suite, does not end, as some do with a mutant: far more than any takes on
# a machine that does much else. And those after which no further suite is asked of a mutant, for it makes them slow, and no more is known.
LONGEST, LONGEST_SUITE, LONGEST_MUTANT = 30, 150, 300

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

    def __init__(self, build):
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
        targets = subprocess.run(["ninja", "-C", str(self.build), "-t", "targets", "all"], capture_output=True, text=True, check=True)
        self.targets = {target.split("/")[-1]: target for target in (line.split(":")[0] for line in targets.stdout.splitlines())
                        if re.fullmatch(r"tests/([a-z]+/)?test-[\w-]+", target)}
        self.kinds = {"test-kind-" + file.stem: kind_in(file.read_text(encoding="utf-8")) for file in (self.source / "lib/kind").glob("*.c")}

    def compiles(self, *names):
        """builds these suites, or what all of them have in common"""
        wanted = [self.targets[name] for name in names] or ["lib/libbloomery-objects.a"]
        return subprocess.run(["ninja", "-C", str(self.build), "-j2", *wanted], capture_output=True).returncode == 0

    def write(self, name, number, line):
        path = self.source / name
        text = path.read_text(encoding="utf-8").split("\n")
        text[number] = line
        path.write_text("\n".join(text), encoding="utf-8")

    def fails(self, name, case, most=None, seconds=LONGEST_SUITE):
        """the number of the first test of this suite, or of this case of it, that fails, of the first so many; 0: none does; None: that takes too
        long. Whatever it started is ended with it."""
        if not self.compiles(name):
            return 1
        environment = dict(os.environ, BLOOMERY_TEST_SCALE=SCALE, CK_VERBOSITY="silent", CK_DEFAULT_TIMEOUT=str(LONGEST),
                           CK_TAP_LOG_FILE_NAME="-", **({"CK_RUN_CASE": case} if case else {}))
        with tempfile.TemporaryDirectory(dir="/dev/shm" if os.access("/dev/shm", os.W_OK) else None) as folder:
            environment["TMPDIR"] = folder
            os.chmod(folder, 0o711)  # tests may become other users
            process = subprocess.Popen([str(self.build / self.targets[name])], env=environment, cwd=folder, stdin=subprocess.DEVNULL,
                                       stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, start_new_session=True)
            try:
                failed = first_failure(process.stdout, time.monotonic() + seconds, most)
                return (process.wait(timeout=LONGEST) != 0 if most is None else 0) if failed == 0 else failed
            except subprocess.TimeoutExpired:
                return None
            finally:
                process.terminate()  # then Check ends the processes of its tests as well, which have groups of their own
                try:
                    process.wait(timeout=5)
                except subprocess.TimeoutExpired:
                    pass
                try:
                    os.killpg(process.pid, signal.SIGKILL)
                except ProcessLookupError:
                    pass
                process.wait()
                process.stdout.close()

    def own_suite(self, path):
        own = "test-" + re.sub(r"^lib/|\.c$", "", path).replace("/", "-")
        while own not in self.targets and "_" in own:  # golomb_write.c is a part of golomb
            own = own.rpartition("_")[0]
        return own

    def used(self, paths):
        """the suites that may be asked of mutants of these files"""
        names = {*SUITES, *SUITES_OF_KINDS} | {self.own_suite(path) for path in paths}
        return sorted(names & self.targets.keys())

    def killer(self, path):
        """the first suite that fails: its name and its case; and the number of its test: 0 if none fails, None where it takes too long to know"""
        own = self.own_suite(path)
        suites = SUITES_OF_KINDS if path.startswith("lib/kind/") else SUITES
        text = (ROOT / path).read_text(encoding="utf-8")
        suites = [suite for suite in suites if suite != own]
        first = 1 if path.startswith("lib/kind/") else 0  # the laws of one kind take less time than its own suite
        until = time.monotonic() + LONGEST_MUTANT
        for name in suites[:first] + [own] + suites[first:]:
            if time.monotonic() > until:
                return None, None
            built = time.monotonic()
            if name in self.targets and self.compiles(name):
                until += time.monotonic() - built
            case = kind_in(text) or self.kinds.get(own) if name in ASK_EACH_KIND else None
            if name in self.targets and (name != "test-simd" or "simd" in text):
                test = self.fails(name, case)
                if test != 0:
                    return (name, case), test
        return None, 0


def first_failure(lines, until, most):
    """reads what a suite says, up to its end or the test of that number: the number of the one that failed; 0: none; None: it is not at its end"""
    text, done = b"", 0
    while select.select([lines], [], [], max(until - time.monotonic(), 0))[0]:
        more = os.read(lines.fileno(), 65536)
        if not more:
            return 0
        *whole, text = (text + more).split(b"\n")
        for line in whole:
            if line.startswith(b"not ok"):
                return done + 1
            done += line.startswith(b"ok")
        if most and done >= most:
            return 0
    return None


def kind_in(text):
    """the name of the kind that a file defines, as cases are called; None: it defines none"""
    found = re.search(r'^const struct blm_kind blm_kind_\w+ = \{.*?\.name = "([^"]+)"', text, re.S | re.M)
    return found and found[1]


def rank(seed, mutant):
    """an order that looks random, and that stays when other lines change: a sample is the same from one day to the next"""
    name, _, before, after = mutant
    return hashlib.sha256(f"{seed} {name}: {before.strip()} => {after.strip()}".encode()).digest()


def equivalent():
    path = ROOT / "tests/fault/equivalent.txt"
    return {line for line in path.read_text(encoding="utf-8").splitlines() if line and not line.startswith("#")} if path.exists() else set()


def by_turns(lists):
    """the first of each, the second of each, and so on"""
    return [one for row in itertools.zip_longest(*lists) for one in row if one]


def commit():
    found = subprocess.run(["git", "rev-parse", "HEAD"], cwd=ROOT, capture_output=True, text=True)
    return found.stdout.strip() or "1"


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--seconds", type=float, help="begin no mutant after this many seconds, from the end of the build, if enough were tried")
    options.add_argument("--count", type=int, help="at most so many mutants")
    options.add_argument("--seed", default=commit())
    options.add_argument("--tried", type=int, default=1, help="fail where there are fewer mutants, however long they take")
    options.add_argument("--least", type=float, default=0, help="fail where fewer percent are killed")
    options.add_argument("--build", default=None, help="a folder to keep between runs")
    options.add_argument("files", nargs="*")
    given = options.parse_args()
    build = given.build or tempfile.mkdtemp(prefix="bloomery-mutate-")
    bench = Bench(build)
    lists = [sorted(all_mutants([pattern]), key=lambda mutant: rank(given.seed, mutant)) for pattern in given.files or FILES]
    mutants = by_turns(lists)[:given.count]
    if not bench.compiles(*bench.used([mutant[0] for mutant in mutants])):
        sys.exit("the tests do not build")
    begun = time.monotonic()
    excused = equivalent()
    killed, survived, broken, known, undecided, trusted = {}, [], 0, 0, 0, {}
    for name, number, before, after in mutants:
        if given.seconds and time.monotonic() - begun > given.seconds and sum(killed.values()) + len(survived) + undecided >= given.tried:
            break
        if f"{name}: {before.strip()} => {after.strip()}" in excused:
            known += 1
            continue
        bench.write(name, number, after)
        compiles = bench.compiles()
        by, test = bench.killer(name) if compiles else (None, 0)
        bench.write(name, number, before)
        if not compiles:
            broken += 1
        elif test is None:
            undecided += 1
            print(f"undecided: {name}:{number + 1}\n-{before}\n+{after}", flush=True)
        elif by:
            trusted[by] = max(trusted.get(by, 0), test)
            killed[by[0]] = killed.get(by[0], 0) + 1
        else:
            survived.append((name, number, before, after))
            print(f"survived: {name}:{number + 1}\n-{before}\n+{after}", flush=True)
    took = time.monotonic() - begun
    failing = [by[0] for by, test in trusted.items() if bench.fails(*by, most=test, seconds=LONGEST_MUTANT) != 0]
    if failing:
        sys.exit(f"{', '.join(failing)}: fails without any mutant, or takes minutes")
    if not given.build:
        shutil.rmtree(build, ignore_errors=True)
    tried = sum(killed.values()) + len(survived) + undecided
    by = ", ".join(f"{name} {count}" for name, count in sorted(killed.items(), key=lambda item: -item[1]))
    print(f"{tried} of {sum(map(len, lists))} mutants in {took:.0f} s: {sum(killed.values())} killed ({by}), {len(survived)} survived, "
          f"{undecided} undecided, {broken} not compiling, {known} known to change nothing; "
          f"{100 * sum(killed.values()) / max(tried, 1):.0f} % killed")
    if tried < given.tried:
        print(f"{tried} mutants are fewer than {given.tried}")
    return tried < given.tried or 100 * sum(killed.values()) < given.least * tried


sys.exit(main())
