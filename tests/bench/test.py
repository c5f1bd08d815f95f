# test.py - the benchmark runs, and what it writes can be read: at a tiny size, and never about time
import json
import math
import os
import pathlib
import subprocess
import sys
import tempfile
import xml.etree.ElementTree

BENCH = os.environ["BENCH"]
passed = 0


def bench(*args, code=0):
    got = subprocess.run([BENCH, *args], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert got.returncode == code, f"exit {got.returncode}: {got.stderr}"
    return got


def ok(what, true):
    global passed
    passed += 1
    print(f"{'ok' if true else 'not ok'} {passed} - {what}", flush=True)
    return true


def numbers(spread):
    """a median between its quartiles, all of them positive"""
    return all(math.isfinite(spread[k]) for k in spread) and 0 < spread["q1"] <= spread["median"] <= spread["q3"]


def main():
    with tempfile.TemporaryDirectory() as folder:
        out, svg, left = pathlib.Path(folder, "out.json"), pathlib.Path(folder, "out.svg"), pathlib.Path(folder, "left")
        left.mkdir()
        tables = bench("--keys", "40k", "--rounds", "3", "--dir", str(left), "--json", str(out), "--svg", str(svg)).stdout
        got = json.loads(out.read_text())
        rows = {row["name"]: row for row in got["rows"]}
        ok("it writes JSON with rows", len(rows) > 20)
        ok("every value is a number between its quartiles", all(numbers(row["value"]) for row in rows.values()))
        ok("a build is measured for each kind at each size, beside a random line",
           all(rows[f"{kind} {size} build"]["limit"] == f"{kind} {size} read" for kind in ("blocked", "classic") for size in ("40k", "4k", "1k")))
        limited = [row for row in rows.values() if row["limit"]]
        ok("every ratio is a number, of a row that is there", limited and all(numbers(r["ratio"]) and r["limit"] in rows for r in limited))
        ok("nothing is measured against a row of another unit", all(r["unit"] == rows[r["limit"]]["unit"] for r in limited))
        ok("every round has its value", all(len(row["rounds"]) == 3 and all(map(math.isfinite, row["rounds"])) for row in rows.values()))
        asked = [g for g in got["goals"] if g["met"] is not None]
        ok("goals are told as met or not, by their ratios",
           asked and all(g["met"] == (g["ratio"]["median"] >= g["wanted"]) for g in asked))
        ok("what is there to compare with is neither met nor not",
           any(g["wanted"] == 0 and g["ratio"] for g in got["goals"]) and all(g["met"] is None for g in got["goals"] if g["wanted"] == 0))
        kinds = {f["name"] for f in got["filters"]}
        ok("the kinds of the library are there", {"blocked", "classic"} <= kinds)
        ok("the plot has points that no table has", any(f["size"] == "16KiB" for f in got["filters"]))
        ok("each rate is near the predicted one",
           all("half_set" in f or f["measured_rate"] < 2 * f["predicted_rate"] + 1e-3 for f in got["filters"]))
        ok("it names the machine", got["machine"]["processor"] and got["machine"]["kernel"])
        ok("the plot is XML, with a curve for each kind and the limit",
           len(xml.etree.ElementTree.parse(svg).getroot().findall("{http://www.w3.org/2000/svg}polyline")) >= len(kinds & {"blocked", "classic"}) + 1)
        drawn = [e for e in xml.etree.ElementTree.parse(svg).getroot().iter("{http://www.w3.org/2000/svg}path")]
        names = {row["name"].split()[0] for row in rows.values()}
        ok("each point has a bar between its quartiles, and each curve a mark that no other has",
           [e.get("class") for e in drawn].count("error") > 10
           and len({(e.get("class"), e.get("d").split("m", 1)[1]) for e in drawn if e.get("class") in ("full", "empty")})
           == len(xml.etree.ElementTree.parse(svg).getroot().findall("{http://www.w3.org/2000/svg}polyline")))
        words = "".join(xml.etree.ElementTree.parse(svg).getroot().itertext())
        ok("other programs' filters have curves where they are there", all(peer in words for peer in names & {"libbloom", "rocksdb-bloom"}))
        ok("the tables name every row's work", "contains_many absent" in tables and "### What is wanted" in tables)
        ok("no file stays behind", not any(left.iterdir()))

        listed = bench("--list", "--keys", "40k").stdout.split("\n")
        ok("--list names the rows that a run has", set(rows) <= set(listed))
        usual = bench("--list").stdout.split("\n")
        large = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") > 15 << 30
        ok("of the usual size the plot goes from 16 KiB to a GiB, where there is memory for that",
           "blocked 16KiB read" in usual and ("blocked 1GiB read" in usual) == large)
        only = json.loads(bench("--keys", "40k", "--rounds", "1", "--dir", folder, "--only", "classic 40k contains present", "--json", "-").stdout)
        ok("--only measures that and its limit",
           {row["name"] for row in only["rows"]} == {"classic 40k contains present", "classic 40k read"})
        curves = json.loads(bench("--keys", "1m", "--rounds", "3", "--dir", folder, "--curves", "--svg", str(svg), "--json", "-").stdout)
        lines = xml.etree.ElementTree.parse(svg).getroot().findall("{http://www.w3.org/2000/svg}polyline")
        ok("--curves measures what the plot shows, and no more",
           {row["name"].split()[1] for row in curves["rows"]} == {"16KiB", "64KiB", "256KiB"}
           and len(lines) == 1 + len({row["name"].split()[0] for row in curves["rows"]}) and all(len(line.get("points").split()) == 3 for line in lines))
        readme = bench("--keys", "40k", "--rounds", "1", "--dir", folder, "--only", "blocked", "--readme").stdout
        ok("--readme prints tables of what was measured, and nothing of what is wanted",
           "| blocked | 40k |" in readme and "| kind | bits a key |" in readme and "| what | against | ratio |\n" in readme and "exclusive build, blocked, one thread, 40k" in readme
           and not any(word in readme for word in ("wanted", "met |", "measured |", "libbloom |")))
        goals = bench("--keys", "40k", "--rounds", "1", "--dir", folder, "--only", "blocked", "--goals").stdout
        ok("--goals prints what is wanted, of what was not measured too", "| wanted |" in goals and "met" in goals and "| to compare |" in goals and "not measured |" in goals)
        refused = bench("--keys", "40k", "--dir", str(left), "--json", str(pathlib.Path(folder, "unwritten")),
                        "--svg", str(pathlib.Path(folder, "nowhere", "plot.svg")), code=2)
        ok("what it cannot write in the end it finds out before it begins", "nowhere/plot.svg" in refused.stderr and not any(left.iterdir())
           and not pathlib.Path(folder, "unwritten").exists())
        ok("--help tells of every option", "--long" in bench("--help").stdout)
        ok("what it does not know is misuse", "bench --help" in bench("--keys", "many", code=64).stderr)
        ok("and so is a word too many", "word" in bench("word", code=64).stderr)
        ok("a name that no row has fails, and says where the names are",
           "--list" in bench("--only", "nobody", "--dir", str(left), code=2).stderr and not any(left.iterdir()))
    print(f"1..{passed}")


try:
    main()
except Exception as problem:
    ok(str(problem).replace("\n", "; "), False)
    print(f"1..{passed}")
    sys.exit(1)
