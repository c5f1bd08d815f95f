# report_page.py - what a page of `bloomery report`, or of `bloomery corpus --report`, says, read as the XML that it is, too
# report_page.py FILE: fails if the page could load or run anything of others; else prints an object of JSON
import json, re, sys, unicodedata
import xml.etree.ElementTree as tree

text = open(sys.argv[1], encoding="utf-8", newline="").read()
acting = [hex(ord(c)) for c in text if c != "\n" and unicodedata.category(c) in ("Cc", "Cf", "Zl", "Zp") and c not in "\u200c\u200d"]
assert not acting, acting
assert text.startswith("<!DOCTYPE html>\n")
page = tree.fromstring(text)
for element in page.iter():
    element.tag = element.tag.replace("{http://www.w3.org/1999/xhtml}", "")
    # SVG's own namespace is that of its place in HTML
    for name, value in element.attrib.items():
        assert not name.lower().startswith("on") and name not in ("src", "srcset", "action", "style"), name
        assert name != "href" or value.startswith("#"), value
    assert element.tag in ("a article bdi body button circle code dd div dl dt h1 h2 h3 head html input label meta nav p path rect script section "
                           "small span style svg table tbody td text th thead title tr").split(), element.tag
assert len(page.findall(".//script")) == len(page.findall(".//style")) == 1
assert not re.search(r"url\(|@import|https?:", page.find(".//style").text + page.find(".//script").text)
ids = {e.get("id") for e in page.iter() if e.get("id")}
assert all(e.get("href")[1:] in ids for e in page.iter("a"))


def words(element):
    return " ".join("".join(element.itertext()).split())


def rows(table):
    return [{"name": row.find(".//bdi").text, "cells": [words(cell) for cell in row]} for row in table.find("tbody")]


nothing = tree.Element("section")
by_id = {e.get("id"): e for e in page.iter() if e.get("id")}
json.dump({
    "title": page.find(".//title").text, "text": words(page.find("body")),
    "tiles": {words(div.find("dt")): words(div.find("dd")) for div in page.find(".//dl")},
    "filters": {row["name"]: row["cells"] for row in rows(by_id["all"])},
    "planned": {row["name"]: row["cells"] for table in by_id.get("planning", nothing).iter("table") for row in rows(table)},
    "shared": [rows(table) for table in by_id.get("shared", nothing).iter("table")],
    "findings": words(by_id.get("verify", nothing)),
    "cards": {a.find("h3/bdi").text: {"text": words(a), "lines": [e.get("class") for e in a.iter("path")],
                                      "dots": len(list(a.iter("circle")))} for a in page.iter("article")},
}, sys.stdout)
