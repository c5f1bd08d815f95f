#!/usr/bin/env python3
"""html_pages.py - the manual pages as HTML, and the README and the format specification if cmark-gfm is there

usage: html_pages.py OUTPUT-FOLDER SOURCE-FOLDER PAGE...

A page of one line, `.so man3/OTHER.3`, becomes links to its section of the other page.
"""
import html
import pathlib
import re
import shutil
import subprocess
import sys

STYLE = """body { max-width: 60em; margin: 1em auto; padding: 0 1em; font-family: sans-serif; line-height: 1.4 }
table.head, table.foot { width: 100%; color: #555 } td.head-vol { text-align: center }
td.head-rtitle, td.foot-os { text-align: right } a.permalink { color: inherit; text-decoration: none }
pre, code { font-size: 95% } pre { background: #f5f5f5; padding: 0.5em; overflow-x: auto }
table { border-collapse: collapse } td, th { padding: 0.1em 0.6em; text-align: left; vertical-align: top }
dd { margin-bottom: 0.5em } .Bl-compact > dd { margin-bottom: 0 } img { max-width: 100% }
"""
PARTS = {"1": "Commands", "3": "The library", "5": "Files", "7": "Subjects"}
DOCUMENTS = {"README.md": "what it is, and how to begin", "format-spec.md": "the file format"}
OURS = re.compile(r"(?:lib)?bloomery|blm_")


def run(*command):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


def whole(title, body):
    return (f'<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n<title>{html.escape(title)}</title>\n'
            f'<link rel="stylesheet" href="style.css">\n</head>\n<body>\n<p><a href="index.html">All pages</a></p>\n'
            f"{body}</body>\n</html>\n")


def aliases(pages):
    """{"blm_claim.3": "libbloomery-key.3"}"""
    found = {page.name: re.match(r"\.so man\d/(\S+)\n$", page.read_text()) for page in pages}
    return {name: match[1] for name, match in found.items() if match}


def section(text, name):
    """The id of the section about a function."""
    for ident, heading in re.findall(r'<h2 class="Ss" id="([^"]*)">(.*?)</h2>', text, re.S):
        if re.search(rf"\b{name}\b", heading):
            return "#" + ident
    return ""


def linked(text, bodies, other):
    """Pages of other programs are not here, and a page of a function is a section."""
    def target(match):
        page = match[2].removesuffix(".html")
        if page in other:
            return match[1] + other[page] + ".html" + section(bodies[other[page]], page.split(".")[0]) + match[3]
        return match[0] if OURS.match(page) else match[4]

    return re.sub(r'(<a class="Xr" href=")([^"#]*)(">(.*?)</a>)', target, text, flags=re.S)


def about(body):
    """What the line of its NAME says."""
    return re.search(r'<span class="Nd">(.*?)</span>', body, re.S)[1]


def slugs(text):
    """GitHub's anchors of headings."""
    def add(match):
        plain = html.unescape(re.sub(r"<.*?>", "", match[2])).lower()
        slug = re.sub(r"[^\w\- ]", "", plain).replace(" ", "-")
        return f'<h{match[1]} id="{slug}">{match[2]}</h{match[1]}>'

    return re.sub(r"<h(\d)>(.*?)</h\1>", add, text, flags=re.S)


def document(output, source, name, names):
    """One of ours in Markdown; it names pages like `bloomery-kinds(7)`, and pictures beside it."""
    text = slugs(run("cmark-gfm", "-e", "table", str(source / name)))
    text = re.sub(r"<code>([\w-]+)\((\d)\)</code>",
                  lambda m: f'<a href="{m[1]}.{m[2]}.html">{m[0]}</a>' if f"{m[1]}.{m[2]}" in names else m[0], text)
    for picture in re.findall(r'<img src="([^"]*)"', text):
        shutil.copy(source / picture, output)
        text = text.replace(picture, pathlib.Path(picture).name)
    (output / name).with_suffix(".html").write_text(whole(name, text))


def entries(some):
    return "<dl>\n" + "".join(f'<dt><a href="{to}">{name}</a></dt><dd>{text}</dd>\n' for to, name, text in some) + "</dl>\n"


def index(pages, bodies, documents):
    body = "<h1>Bloomery</h1>\n"
    if documents:
        body += entries((n[:-3] + ".html", n, DOCUMENTS[n]) for n in documents)
    for number, title in PARTS.items():
        some = sorted((p for p in pages if p.suffix == "." + number), key=lambda p: p.stem)
        body += f"<h2>{title}</h2>\n"
        body += entries((p.name + ".html", f"{p.stem}({number})", about(bodies[p.name])) for p in some)
    return body


def main(output, source, pages):
    if not shutil.which("mandoc"):
        raise SystemExit("html_pages.py: mandoc is missing; install the package mandoc")
    output.mkdir(parents=True, exist_ok=True)
    for old in output.glob("*.html"):
        old.unlink()
    other = aliases(pages)
    real = [page for page in pages if page.name not in other]
    bodies = {page.name: run("mandoc", "-T", "html", "-O", "fragment,man=%N.%S.html", str(page)) for page in real}
    for page in real:
        text = linked(bodies[page.name], bodies, other)
        (output / (page.name + ".html")).write_text(whole(f"{page.stem}({page.suffix[1:]})", text))
    documents = list(DOCUMENTS) if shutil.which("cmark-gfm") else []
    for name in documents:
        document(output, source, name, bodies)
    (output / "index.html").write_text(whole("Bloomery", index(real, bodies, documents)))
    (output / "style.css").write_text(STYLE)


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]), [pathlib.Path(p) for p in sys.argv[3:]])
