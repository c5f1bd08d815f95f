# mutate.py - are the tests any good? Small faults are put into the library, one at a time, and the tests must notice
#
# usage: mutate.py [--seconds N] [--count N] [--seed N] [--least PERCENT] [--patience TIMES] [--build DIR] [FILE...]
#
# Each mutant changes one place of one file: an operator, a constant by one, a condition to its opposite, or a statement that is
# left out. It is built, and the fast suites run until a test fails: killed, if that suite passes without the mutant; if none does:
# survived, and its diff is told. Those that change nothing that anybody could see are listed in equivalent.txt beside this file, as
# "file: line before => line after".
import argparse
import hashlib
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
FILES = ["lib/file/*.c", "lib/kind/*.c", "lib/guard.c", "lib/sync.c", "lib/change.c", "lib/replace.c", "lib/drop.c"]
# Those that notice most, soonest first; name of the program: how long it may take. The suite that is named as the mutant's file
# goes before them.
SUITES = [("test-file-image", 30), ("test-file-lock", 30), ("test-file-publish", 30), ("test-file-system", 30), ("test-file-where", 30),
          ("test-file-sigbus", 30), ("test-place", 30), ("test-clear", 30), ("test-data", 30), ("test-combine", 30), ("test-memory", 30),
          ("test-limits", 60), ("test-seal", 60), ("test-repair", 60), ("test-files", 60), ("test-strays", 60), ("test-leftovers", 60),
          ("test-inject", 60), ("test-kind-laws", 90), ("test-store", 60), ("test-claim", 60)]
SUITES_OF_KINDS = [("test-kind-laws", 90), ("test-kind-built", 60), ("test-combine", 30), ("test-kind-torn", 60), ("test-filter", 60),
                   ("test-memory", 30), ("test-kind-parts", 60), ("test-kind-shapes", 60), ("test-simd", 90)]
ASK_EACH_KIND = {"test-kind-laws", "test-kind-built", "test-kind-shapes"}  # these have a case for each kind
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

    def passes(self, name, case, seconds):
        """does this suite, or this case of it, build, pass, and end in time? Whatever it started is ended with it."""
        if not self.compiles(name):
            return False
        seconds *= self.patience
        environment = dict(os.environ, BLOOMERY_TEST_SCALE=SCALE, CK_VERBOSITY="silent", CK_DEFAULT_TIMEOUT=str(seconds // 2),
                           CK_TAP_LOG_FILE_NAME="-", **({"CK_RUN_CASE": case} if case else {}))
        with tempfile.TemporaryDirectory(dir="/dev/shm" if os.access("/dev/shm", os.W_OK) else None) as folder:
            environment["TMPDIR"] = folder
            process = subprocess.Popen([str(self.build / self.targets[name])], env=environment, cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                       stderr=subprocess.DEVNULL, start_new_session=True)
            try:
                return goes_well(process.stdout, time.monotonic() + seconds) and process.wait() == 0
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

    def killer(self, path):
        """the first suite that fails: what is given back is its name, its case and how long it may take"""
        own = "test-" + re.sub(r"^lib/|\.c$", "", path).replace("/", "-")
        while own not in self.targets and "_" in own:  # golomb_write.c is a part of golomb
            own = own.rpartition("_")[0]
        suites = SUITES_OF_KINDS if path.startswith("lib/kind/") else SUITES
        text = (ROOT / path).read_text(encoding="utf-8")
        for name, seconds in [(own, 90)] + [suite for suite in suites if suite[0] != own]:
            case = kind_in(text) or self.kinds.get(own) if name in ASK_EACH_KIND else None
            if name in self.targets and (name != "test-simd" or "simd" in text) and not self.passes(name, case, seconds):
                return name, case, seconds
        return None


def goes_well(lines, until):
    """reads what a suite says, up to its end: no test has failed, and the time was enough"""
    text = b""
    while select.select([lines], [], [], max(until - time.monotonic(), 0))[0]:
        more = os.read(lines.fileno(), 65536)
        if not more:
            return True
        text += more
        if text.startswith(b"not ok") or b"\nnot ok" in text:
            return False
    return False


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
    if not bench.compiles():
        sys.exit("the library does not build")
    mutants = list(all_mutants(given.files or FILES))
    total = len(mutants)
    mutants.sort(key=lambda mutant: rank(given.seed, mutant))
    excused = equivalent()
    killed, survived, broken, known, trusted = {}, [], 0, 0, set()
    for name, number, before, after in mutants[:given.count]:
        if given.seconds and time.monotonic() - begun > given.seconds:
            break
        if f"{name}: {before.strip()} => {after.strip()}" in excused:
            known += 1
            continue
        bench.write(name, number, after)
        by = bench.killer(name) if bench.compiles() else "compiler"
        bench.write(name, number, before)
        if by == "compiler":
            broken += 1
        elif by:
            if by not in trusted:
                if not bench.passes(*by):
                    sys.exit(f"{by[0]} fails without any mutant")
                trusted.add(by)
            killed[by[0]] = killed.get(by[0], 0) + 1
        else:
            survived.append((name, number, before, after))
            print(f"survived: {name}:{number + 1}\n-{before}\n+{after}", flush=True)
    if not given.build:
        shutil.rmtree(build, ignore_errors=True)
    tried = sum(killed.values()) + len(survived)
    by = ", ".join(f"{name} {count}" for name, count in sorted(killed.items(), key=lambda item: -item[1]))
    print(f"{tried} of {total} mutants: {sum(killed.values())} killed ({by}), {len(survived)} survived, {broken} not compiling, "
          f"{known} known to change nothing; {100 * sum(killed.values()) / max(tried, 1):.0f} % killed")
    return not tried or 100 * sum(killed.values()) < given.least * tried


sys.exit(main())
