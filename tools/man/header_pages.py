#!/usr/bin/env python3
"""header_pages.py - the manual pages of the library, from the comments of its header

usage: header_pages.py --names MAP
       header_pages.py HEADER MAP EXAMPLES OUTPUT-FOLDER

The first form prints the file of every page. Each group of the header, `/* ---- TITLE ---- */`, is
a page, and each function of MAP has a page that leads to the page of its group. Below the same
title in EXAMPLES, a C file, is the example of the group. libbloomery.3 is the first comment of the
header.
"""
import itertools
import pathlib
import re
import sys
import textwrap

DATE = "November 27, 2026"	# of the last change to what the pages say
GROUPS = {
    "Errors": "errors",
    "One key at a time": "key",
    "Many keys": "keys",
    "Ranges of keys": "ranges",
    "When keys were seen": "when",
    "Keys by their hashes": "hashes",
    "Parts of a filter": "parts",
    "A whole filter": "filter",
    "Parameters and sizes": "params",
    "Creating and building": "build",
    "Templates and algebra": "algebra",
    "What a filter says of itself": "info",
    "Estimates": "estimate",
    "Stores": "store",
    "Lists of false positives": "allowlist",
    "Exchange": "exchange",
    "Checking": "verify",
    "Banks": "bank",
    "What there is": "lists",
    "The process": "process",
}
ITEM = re.compile(r"( *)(- +|-E[A-Z0-9]+(?:, [-A-Z0-9, .]+)?  +)(?=\S)")
ANSWER = r"(?:Return|Threads|Processes|Threads, processes): "
START = "@|" + ANSWER	# of what follows the line about a function
CALL = re.compile(r"(?<!\S)(\(?)(?:`([^`]*)`|([A-Za-z]\w*)\(\))('s)?([.,;:)?!]*)(?!\S)")
CPLUSPLUS = re.compile(r"^#ifdef __cplusplus\n.*?(?:^#else\n(.*?))?^#endif\n", re.M | re.S)
DECLARATION = re.compile(r"""(?P<doc>/\*\*.*?\*/) | (?P<note>/\*.*?\*/)
    | BLM_API\s+(?P<function>[^;]*?\b(?P<name>blm_\w+)\([^;]*\));
    | (?P<type>(?:struct|enum)\ ?\w*\ ?\{.*?\n?\};) | (?P<macro>\#define\ BLM_(?!API|SIZE)\w+(?:\\\n|[^\n])*)""", re.X | re.S)


def functions(file):
    """The functions that the library exports."""
    return re.findall(r"\b(blm_\w+);", pathlib.Path(file).read_text())


def escape(text):
    text = text.replace("\\", r"\e")
    return r"\&" + text if text[:1] in (".", "'") else text


def sentences(text, page):
    """A paragraph as lines of mdoc: a sentence a line, functions and names with their macros."""
    text = re.sub(r"\s+", " ", text.strip())
    for sentence in re.split(r"(?<=[a-z0-9)\"'A-Z][.!?]) (?=[^a-z])", text):
        for line in CALL.sub(lambda m: "\n" + call(m, page) + "\n", sentence).split("\n"):
            if line.startswith((".Xr ", ".Fn ", ".Ql ")):
                yield line
            else:
                yield from map(escape, textwrap.wrap(line.strip(), 79, break_on_hyphens=False, break_long_words=False))


def call(match, page):
    """A function of another page is a link, a function of this page or another library is not."""
    before, code, name, own, after = match.groups()
    macro = f"Ql {code}" if code else f"Xr {name} 3" if name.startswith("blm_") and name not in page else f"Fn {name}"
    first, _, rest = macro.partition(" ")
    parts = [first, before, rest, "Ns" if own else "", own or "", " ".join(after)]
    return "." + " ".join(p for p in parts if p)


def literal(lines, offset=" -offset indent"):
    text = textwrap.dedent("\n".join(lines).expandtabs(8))
    return [".Bd -literal" + offset, *map(escape, text.split("\n")), ".Ed"]


class Block:
    """Text of a comment: paragraphs, code behind a tab, and lists of which the items are indented."""

    def __init__(self, lines, page):
        self.out, self.page, self.paragraph, self.gap = [], page, [], False
        self.lists = []		# the column of the items, and that of their text
        for is_code, run in itertools.groupby(self.joined(lines), lambda line: line.startswith("\t")):
            if is_code:
                self.flush()
                self.out += literal(run)
            else:
                for line in run:
                    self.add(line)
        self.flush()
        self.leave(0)

    @staticmethod
    def joined(lines):
        """An empty line between two of code is one of code."""
        for before, line, after in zip(["", *lines], lines, [*lines[1:], ""]):
            yield "\t" if not line.strip() and before.startswith("\t") and after.startswith("\t") else line

    def add(self, line):
        indent = len(line) - len(line.lstrip(" "))
        item = ITEM.match(line)
        if not line.strip():
            self.flush()
            self.gap = True
        elif item and indent:
            self.flush()
            self.begin_item(indent, item)
            self.paragraph.append(line[item.end():])
        else:
            if self.lists and indent < self.lists[-1][1]:
                self.flush()
                self.leave(indent)
            self.paragraph.append(line)

    def begin_item(self, indent, item):
        bullet = item[2].startswith("- ")
        self.leave(indent + 1)
        if not self.lists or indent > self.lists[-1][0]:
            self.out.append(".Bl -bullet" if bullet else ".Bl -tag -width EPROTONOSUPPORT")
            self.lists.append((indent, item.end()))
        self.out.append(".It" if bullet else f".It Er {item[2].strip()}")
        self.gap = False

    def leave(self, column):
        """End the lists of which the items are at that column or behind it."""
        while self.lists and column <= self.lists[-1][0]:
            self.out.append(".El")
            self.lists.pop()

    def flush(self):
        if self.paragraph:
            if self.gap and self.out:
                self.out.append(".Pp")
            self.out += sentences(" ".join(self.paragraph), self.page)
            self.gap = False
        self.paragraph = []


def block(lines, page):
    return Block(lines, page).out


def strip(comment):
    lines = re.sub(r"^/\*+ ?|\s*\*+/$", "", comment).split("\n")
    return [re.sub(r"^ \*(?: |(?=\t)|$)", "", line).rstrip() for line in lines]


def summary(head, page):
    """The heading of a comment: NAMES - TEXT, or several such lines."""
    parts = re.split(r"\n(?=blm_\w+\(\) - )", "\n".join(head))
    pairs = [re.sub(r"\s+", " ", part).partition(" - ") for part in parts]
    out = [".Ss " + escape(", ".join(names for names, _, _ in pairs))]
    if len(pairs) > 1:
        out.append(".Bl -tag -width Ds")
        for names, _, text in pairs:
            out += [f".It Fn {names[:-2]}", *sentences(text, page)]
        return out + [".El"]
    text = pairs[0][2]
    if text and not CALL.match(text):
        text = text[0].upper() + text[1:]
    return out + list(sentences(text + "." * (text[-1:] not in (*".?!", "")), page))


def doc(comment, page):
    """A comment of the header: its names, a line about them, parameters, text, the answer."""
    lines = strip(comment)
    if not lines[0].strip():
        lines = lines[1:]
    if not re.match(r"(?:(?:struct|enum) )?blm_", lines[0]):
        return block(lines, page)
    head = []
    while lines and lines[0].strip() and not re.match(START, lines[0]):
        head.append(lines.pop(0))
    out = summary(head, page)
    parameters = []
    while lines and lines[0].startswith("@"):
        names, _, text = lines.pop(0).partition(":")
        while lines and lines[0].strip() and not re.match(START, lines[0]):
            text += " " + lines.pop(0).strip()
        parameters.append((names.replace("@", ""), text))
    if parameters:
        out.append(".Bl -tag -width Ds")
        for names, text in parameters:
            out += [".It Fa " + " , ".join(names.split(", ")), *sentences(text, page)]
        out.append(".El")
    text = block(lines, page)
    return out + ([".Pp"] if text and len(out) > 1 and not text[0].startswith(".Bd") else []) + mark(text)


def mark(text):
    """`Return:` begins a paragraph of its own."""
    out = []
    for line in text:
        if re.match(ANSWER, line) and out and out[-1] != ".Pp":
            out.append(".Pp")
        out.append(line)
    return out


def arguments(text):
    """The parameters of a declaration; those of a callback's own stay together."""
    depth, part = 0, ""
    for char in re.sub(r"\s+", " ", text):
        depth += (char == "(") - (char == ")")
        if char == "," and depth == 0:
            yield part.strip()
            part = ""
        else:
            part += char
    yield part.strip()


def fitting(argument):
    """the argument in pieces that a line has room for; Fo puts the commas back between them, and only the first piece may have some"""
    pieces = argument.split(", ")
    while len(pieces) > 1 and len(pieces[0]) + len(pieces[1]) < 54:
        pieces[:2] = [", ".join(pieces[:2])]
    return pieces


def prototype(text, name):
    before, _, after = text.partition(name + "(")
    return [".Ft " + f'"{" ".join(before.split())}"', f".Fo {name}",
            *(f'.Fa "{piece}"' for a in arguments(after[:-1]) for piece in fitting(a)), ".Fc"]


def title(name, about, names):
    lines = [f'.\\" {name}.3 - made from lib/bloomery.h', f".Dd {DATE}", f".Dt {name.upper()} 3", ".Os", ".Sh NAME"]
    for n in (name, *names):
        lines.append(f".Nm {n} ,")
    lines[-1] = lines[-1][:-2]
    return lines + [f".Nd {about}", ".Sh SYNOPSIS", ".In bloomery.h"]


def body(text, page):
    """What a group says, in its order."""
    out = []
    for found in DECLARATION.finditer(text):
        if found["doc"]:
            out += doc(found["doc"], page)
        elif found["note"]:
            out += [".Pp"] * bool(out) + block(strip(found["note"]), page)
        elif found["type"] or found["macro"]:
            lines = (found["type"] or found["macro"]).split("\n")
            if out and out[-1] == ".Ed" and found["macro"]:	# right behind the one before
                out[-1:] = literal(lines)[1:]
            else:
                out += literal(lines, "")
    return out


def examples(file):
    """The C code below each title."""
    pieces = re.split(r"/\* ---- (.*) ---- \*/\n", pathlib.Path(file).read_text().split("\nint main(")[0])
    return {title: code.strip().split("\n") for title, code in zip(pieces[1::2], pieces[2::2])}


def group_page(name, about, text, example):
    found = [f for f in DECLARATION.finditer(text) if f["function"]]
    names = [f["name"] for f in found]
    lines = title(name, about, names)
    for f in found:
        lines += prototype(f["function"], f["name"])
    described = body(text, names)
    for n in names:
        if not any(line.startswith(".Ss ") and f"{n}()" in line for line in described):
            raise SystemExit(f"{n}: no comment of the header begins with its name; write one")
    lines += [".Sh DESCRIPTION", *described, ".Sh EXAMPLES", *literal(example, "")]
    lines += [".Pp", ".Pa share/doc/bloomery/examples/groups.c", "has the whole program:", ".Fn must", "ends it when a call fails,",
              ".Fn in_memory", "creates a filter for a thousand keys.", ".Sh SEE ALSO", ".Xr bloomery 1 ,", ".Xr libbloomery 3"]
    return names, lines


def overview(head, types, groups):
    lines = strip(head)
    about = re.match(r"bloomery.h - (.*?): the whole public API", lines[1]).group(1)
    rule = next(n for n, line in enumerate(lines) if line.startswith("Conventions"))
    out = title("libbloomery", about, []) + literal(["cc example.c $(pkg-config --cflags --libs bloomery)"])
    out += [".Sh DESCRIPTION", *block(lines[2:rule], [])]
    out += [".Sh CONVENTIONS", *block(["These hold for every function:", *lines[rule + 1:]], [])]
    out += [".Sh TYPES", "These types belong to several groups:", *body(types, [])]
    out += [".Sh FUNCTIONS", "Each group of functions has a page.", ".Bl -tag -width Ds"]
    for name, heading, names in groups:
        out += [f".It Xr {name} 3", escape(heading) + ".", *(f".Xr {n} 3 ," for n in names)]
        out[-1] = out[-1][:-2]
    return out + [".El", ".Sh SEE ALSO", ".Xr bloomery 1 ,", ".Xr bloomery-durability 7 ,", ".Xr bloomery-kinds 7"]


def write(header, exported, code, folder):
    text = CPLUSPLUS.sub(r"\1", pathlib.Path(header).read_text())
    pieces = re.split(r"/\* ---- (.*) ---- \*/\n", text)
    head, types = re.match(r"(?s)(/\*.*?\*/)(.*)", pieces[0]).groups()
    groups, home, shown = [], {}, examples(code)
    for heading, text in zip(pieces[1::2], pieces[2::2]):
        if heading.split(":")[0] not in GROUPS:
            raise SystemExit(f"{header}: {heading}: is no known group; name its page in header_pages.py")
        if heading.split(":")[0] not in shown:
            raise SystemExit(f"{code}: {heading.split(':')[0]}: has no example; write one below this title")
        name = "libbloomery-" + GROUPS[heading.split(":")[0]]
        names, lines = group_page(name, heading[0].lower() + heading[1:], text, shown[heading.split(":")[0]])
        pathlib.Path(folder, name + ".3").write_text("\n".join(lines) + "\n")
        groups.append((name, heading, names))
        home.update((n, name) for n in names)
    if sorted(home) != sorted(exported):
        raise SystemExit(f"{header}: {', '.join(set(home) ^ set(exported))}: is not both here and in bloomery.map")
    for n in exported:
        pathlib.Path(folder, n + ".3").write_text(f".so man3/{home[n]}.3\n")
    pathlib.Path(folder, "libbloomery.3").write_text("\n".join(overview(head, types, groups)) + "\n")


if sys.argv[1] == "--names":
    print("\n".join(["libbloomery.3", *(f"libbloomery-{g}.3" for g in GROUPS.values()),
                     *(n + ".3" for n in functions(sys.argv[2]))]))
else:
    write(sys.argv[1], functions(sys.argv[2]), sys.argv[3], sys.argv[4])
