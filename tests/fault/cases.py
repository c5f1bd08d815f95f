"""cases.py - the table of hostile cases is whole, and each test that it names is there

cases.py [--all]: with --all, tests in files that are not there count as missing, too. Ends with a line of figures.
"""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / 'reader'))
from tap import Tap

SETS = {'F': 26, 'R': 14, 'B': 8, 'P': 16, 'C': 17, 'D': 14, 'I': 14, 'L': 18, 'E': 12, 'A': 8}
IDS = ['%s%02d' % (set, i + 1) for set, count in SETS.items() for i in range(count)]
PROMISES = {'P%d' % i for i in range(1, 9)}
NOT_HERE = 'not possible here: '


def rows():
	"""id, promises, [(file, test)] or a reason, what is expected"""
	with open(ROOT / 'fault' / 'cases.tsv', encoding='utf-8') as f:
		for line in f:
			if line.strip() and not line.startswith('#'):
				yield line.rstrip('\n').split('\t')


def is_in(text, name):
	"""As the test's own name, or as the words that a script prints, or as a row's name."""
	return re.search(r'(?<![\w-])%s(?![\w-])' % re.escape(name), text) is not None


def missing(tried, whole, awaited):
	wrong = []
	for one in tried.split('; '):
		file, _, name = one.partition(': ')
		path = ROOT / file
		if not path.exists():
			awaited.add(file)
			if whole:
				wrong.append('%s is not there' % file)
		elif name and not is_in(path.read_text(encoding='utf-8'), name):
			wrong.append('%s has no %r' % (file, name))
	return wrong


def main():
	tap, table, awaited, wrong = Tap(), list(rows()), set(), []
	whole = '--all' in sys.argv
	tap.equal([row[0] for row in table], IDS, 'each case stands in the table once, in its place')
	tap.ok(all(len(row) == 4 and all(row) for row in table), 'each row has an id, promises, how it is tried and what is expected',
		[row for row in table if len(row) != 4])
	tap.ok(all(set(row[1].split(',')) <= PROMISES for row in table), 'each case is of a promise of the design')
	tap.equal(sorted({p for row in table for p in row[1].split(',')}), sorted(PROMISES), 'each promise has a case')
	run = [row for row in table if not row[2].startswith(NOT_HERE)]
	for row in run:
		wrong += ['%s: %s' % (row[0], what) for what in missing(row[2], whole, awaited)]
	tap.ok(not wrong, 'each test that the table names is there', '\n'.join(wrong))
	tap.ok(all(len(row[2]) > len(NOT_HERE) for row in table if row not in run), 'where a case is not run, the table says why')
	for file in sorted(awaited):
		print('# not there yet: %s' % file)
	print('# %d cases: %d run, %d not possible here' % (len(table), len(run), len(table) - len(run)))
	tap.done()


main()
