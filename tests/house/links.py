#!/usr/bin/env python3
"""links.py - the pages as HTML (tools/man/html_pages.py): every link leads somewhere

usage: links.py HTML-PAGES-PY SOURCE PAGE...
"""
import html.parser
import pathlib
import shutil
import subprocess
import sys
import tempfile


class Page(html.parser.HTMLParser):
    """What a page has, and what it points at."""

    def __init__(self, file):
        super().__init__()
        self.ids, self.targets, self.twice = set(), [], []
        self.feed(file.read_text())

    def handle_starttag(self, tag, attributes):
        given = dict(attributes)
        if "id" in given:
            if given["id"] in self.ids:
                self.twice.append(given["id"])
            self.ids.add(given["id"])
        self.targets += [given[name] for name in ("href", "src") if name in given]


def broken(folder):
    """Every link of a page of the folder to something that is not there."""
    pages = {file.name: Page(file) for file in folder.glob("*.html")}
    for name, page in sorted(pages.items()):
        yield from (f"{name}: the id {ident} is there twice" for ident in page.twice)
        for target in page.targets:
            file, _, ident = target.partition("#")
            file = file or name
            if ":" in file:
                yield f"{name}: {target}: leads out of the folder"
            elif not (folder / file).is_file():
                yield f"{name}: {target}: no such file; is .Xr of a page that exists?"
            elif ident and ident not in pages[file].ids:
                yield f"{name}: {target}: no such id there"


def make(script, folder, source, pages):
    subprocess.run([sys.executable, script, folder, source, *pages], check=True)
    return pathlib.Path(folder)


def every_page_is_made_and_is_in_the_index(folder, pages, top):
    there = {file.name for file in folder.glob("*.html")}
    real = {pathlib.Path(p).name + ".html" for p in pages if not pathlib.Path(p).read_text().startswith(".so ")}
    listed = set(Page(folder / "index.html").targets)
    documents = {"README.html", "format-spec.html"} if shutil.which("cmark-gfm") else set()
    for name in sorted((real | documents | {"index.html"}) - there):
        yield f"{name}: was not made"
    for name in sorted((real | documents) - listed):
        yield f"index.html: has no link to {name}"
    if len(real) < 60:
        yield f"only {len(real)} pages"


def every_link_leads_to_an_existing_place(folder, pages, top):
    yield from broken(folder)


def a_link_to_nothing_is_found(folder, pages, top):
    page = pathlib.Path(top, "bloomery-some.7")
    page.write_text(pathlib.Path(pages[0]).read_text() + ".Xr bloomery-none 7\n.Xr cp 1\n")
    made = make(sys.argv[1], top + "/broken", sys.argv[2], [str(page)])
    (made / "more.html").write_text('<a href="#none"></a> <a href="bloomery-some.7.html#NAME"></a> <p id="a"><p id="a">')
    found = list(broken(made))
    for part in ("bloomery-none.7.html: no such file", "#none: no such id", "the id a is there twice"):
        if not any(part in line for line in found):
            yield f"not found: {part}"
    yield from (line for line in found if "cp.1" in line or "#NAME" in line)


TESTS = [every_page_is_made_and_is_in_the_index, every_link_leads_to_an_existing_place, a_link_to_nothing_is_found]

if not shutil.which("mandoc"):
    print("1..0 # SKIP mandoc is not installed")
    sys.exit()
print(f"1..{len(TESTS)}")
with tempfile.TemporaryDirectory() as top:
    made = make(sys.argv[1], top + "/html", sys.argv[2], sys.argv[3:])
    for number, test in enumerate(TESTS, 1):
        wrong = list(test(made, sys.argv[3:], top))
        print("".join(f"# {line}\n" for line in wrong), end="")
        print(f"{'not ok' if wrong else 'ok'} {number} - {test.__name__.replace('_', ' ')}")
