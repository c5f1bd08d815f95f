#!/usr/bin/env python3
"""prose.py - the text of the project is plain English: turns of phrase that readers stumble over are rare

usage: prose.py SOURCE [AREA]

With an AREA (one of those below) each place is printed. Each line of output is a TAP result.
"""
import pathlib
import re
import sys

# What makes a reader go back to the beginning of the sentence.
MARKERS = {
    "who as a subject": r"(?:^|[.:;(,] )who(?:ever)? (?:\w+s|has|is|was|had|did|died)\b",
    "what as a subject": r"(?:^|[.:;(,] )what (?:is|was|comes?|came|has|lies|takes|does|had)\b",
    "a sentence that begins with Of": r"(?:^|[.:;] )Of (?:a|an|the|what|those|these|all|two|each|kinds|which)\b",
    "nobody, somebody": r"\b(?:no|some)body\b",
    "so many, so much": r"\bso (?:many|much)\b(?! (?:as|that|more|faster))",
    "tell of": r"\b(?:tells? of|told of|is told|are told)\b",
    "lies": r"\b(?:lies|lay|lie) (?:in|at|on|where|behind|before|under|beside|there|beyond)\b",
    "beside, by now, likewise": r"\b(?:beside(?! the point)|by now|likewise)\b",
}

# A newcomer reads all of README.md.
README_LINES, README_BYTES = 250, 20 << 10

# How often each may stand in 10,000 words.
LIMITS = {"documents": 1, "specification": 1, "header": 1, "library": 1, "program": 1, "tests": 1,
          "names of tests": 1}


def comments(file):
    """The comments of C, as sentences."""
    for block in re.findall(r"/\*.*?\*/", file.read_text(), re.S):
        yield re.sub(r"(?m)^\s*/?\*+/?|\*/", " ", block)


def strings(file):
    text = re.sub(r"(?s:/\*.*?\*/)|^\s*#.*", "", file.read_text(), flags=re.M)
    for run in re.findall(r'(?:"(?:[^"\\\n]|\\.)*"\s*)+', text):
        yield " ".join(re.findall(r'"((?:[^"\\\n]|\\.)*)"', run)).replace("\\n", "\n")


def hash_comments(file):
    """The comments of shell and Python, as sentences."""
    for block in re.findall(r"(?m)(?:^[ \t]*#[^!\n].*\n)+", file.read_text()):
        yield re.sub(r"(?m)^[ \t]*#", " ", block)


def names(file):
    """The names of tests, as sentences."""
    for name in re.findall(r"(?m)START_TEST\((\w+)\)|^(\w+)\(\)|^ *def test_(\w+)\(", file.read_text()):
        yield "".join(name).replace("_", " ")


def mdoc(file):
    """A manual page without its macros and its literal text."""
    text = re.sub(r"(?s)^\.Bd -literal.*?^\.Ed", "", file.read_text(), flags=re.M)
    text = re.sub(r"(?m)^\.\\\".*$|^\.(?:Pp|Sh|Ss|El|Bl|Xr|Dd|Dt|Os|Nm).*$", "\n\n", text)
    return [re.sub(r"(?m)^\.\w+ ", "", text).replace("\\&", "")]


def markdown(file):
    return [re.sub(r"(?s)^```.*?^```|`[^`\n]*`|^    [^\n]*$", " ", file.read_text(), flags=re.M)]


def c_files(folder):
    return sorted(f for f in folder.rglob("*.[ch]") if f.name != "bloomery.h")


def areas(source):
    pages = sorted([*(source / "tools/man").glob("*.[0-9]"), *(source / "tools/man/commands").glob("*.mdoc")])
    scripts = sorted(f for end in ("sh", "py") for f in (source / "tests").rglob("*." + end))
    documents = [source / "README.md", *sorted((source / ".github").glob("*.md"))]
    return {
        "documents": [(f, mdoc) for f in pages] + [(f, markdown) for f in documents],
        "specification": [(source / "format-spec.md", markdown)],
        "header": [(source / "lib/bloomery.h", comments)],
        "library": [(f, read) for f in c_files(source / "lib") for read in (comments, strings)],
        "program": [(f, read) for f in c_files(source / "tools") for read in (comments, strings)],
        "tests": [(f, comments) for f in c_files(source / "tests")] + [(f, hash_comments) for f in scripts],
        "names of tests": [(f, names) for f in [*c_files(source / "tests"), *scripts]],
    }


def sentences(file, read):
    for text in read(file):
        for piece in re.split(r"\n\s*\n", text):
            yield re.sub(r"\s+", " ", piece).strip()


def count(files, show):
    words, found = 0, dict.fromkeys(MARKERS, 0)
    for file, read in files:
        for text in sentences(file, read):
            words += len(text.split())
            for name, pattern in MARKERS.items():
                for hit in re.finditer(pattern, text, re.I if name[0] != "a" else 0):
                    found[name] += 1
                    if show:
                        print(f"# {file}: {name}: ...{text[max(0, hit.start() - 30):hit.end() + 40]}...")
    return words, {name: n * 10000 / words for name, n in found.items()}


source = pathlib.Path(sys.argv[1])
only = sys.argv[2] if len(sys.argv) > 2 else None
print(f"1..{1 if only else len(LIMITS) + 1}")
for number, (area, files) in enumerate(((a, f) for a, f in areas(source).items() if only in (None, a)), 1):
    words, rates = count(files, only)
    high = {name: rate for name, rate in rates.items() if rate > LIMITS[area]}
    for name, rate in (rates if only else high).items():
        print(f"# {area}: {name}: {rate:.1f} in 10,000 words, at most {LIMITS[area]}; see prose.py SOURCE {area}")
    print(f"{'not ok' if high else 'ok'} {number} - the {area} of {words} words is plain English")
if not only:
    text = (source / "README.md").read_text()
    lines, size = len(text.splitlines()), len(text.encode())
    print(f"{'ok' if lines <= README_LINES and size <= README_BYTES else 'not ok'} {len(LIMITS) + 1} - README.md of {lines} lines and"
          f" {size} bytes has at most {README_LINES} and {README_BYTES}; move the rest to a page of tools/man")
