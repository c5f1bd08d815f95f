"""cases.py - the table of hostile cases is whole, each test that it names is there, and, where a build is given, ran and passed

cases.py [--all] [--ran BUILD [FILE[: TEST]=CODE...]]

--all: tests in files that are not there count as missing, too. --ran: what became of each case is looked up in the log of the last `meson
test` in BUILD; of tests that are run by hand (those in BY_HAND), in the codes that are given: 0 passed, 77 skipped, others failed. A
case is as its worst test. Where one failed, or should be in the log and is not, that is said, and fails. Ends with a line of figures.
"""

import json
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / 'reader'))
from tap import Tap

SETS = {'F': 26, 'R': 14, 'B': 8, 'P': 17, 'C': 18, 'D': 14, 'I': 14, 'L': 18, 'E': 12, 'A': 8}
IDS = ['%s%02d' % (set, i + 1) for set, count in SETS.items() for i in range(count)]
PROMISES = {'P%d' % i for i in range(1, 9)}
NOT_HERE = 'not possible here: '


BY_HAND = {'fault/cross.sh', 'fault/cpu.sh', 'fault/tsan.sh'}		# .ci/run does

# Whose lines in the log name no file: a part of the command that ran them.
PROGRAMS = {
	'golden/broken.txt': 'reader/test_golden.py', 'fault/model/swap.pml': 'fault/model/run.sh',
	'fuzz/record.c': '/again-record',
	**{'fault/' + path.name: '/test-inject' for path in (ROOT / 'fault').glob('inject*.c')},
	**{'fault/%s.c' % name: '/fault-' + name for name in ('cut', 'images', 'pageloss', 'writeback')},
}
# The words in which the log has a test, where they are not those of its name. '': all of the program.
WORDS = {
	'fault/catalog.py: with_lock': 'with its lock files', 'fuzz/record.c: blm_record_decode': '', 'fuzz/record.c: blm_check_name': '',
	'reader/test_c.py: golden_answers': 'the library answers as its list says',
}

# What becomes of a test, from the best to the worst.
PASSED, SKIPPED, BY_HAND_NOT_RUN, NOT_RUN, FAILED = range(5)
LINE = re.compile(r'^(not )?ok\b(?: \d+)?(?: -)?\s*(.*?)(?:\s*#\s*(?:skip|todo)\b\s*(.*))?$', re.I)
EMPTY_PLAN = re.compile(r'^1\.\.0\s*#\s*skip\S*\s*(.*)', re.I)


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


class Program:
	"""One of the log: what its lines say, (outcome, words, why it was skipped)"""

	def __init__(self, test):
		self.command, self.lines, self.why = test['command'], [], ''
		for line in test.get('stdout', '').splitlines():
			found, empty = LINE.match(line), EMPTY_PLAN.match(line)
			if found:
				self.lines.append((FAILED if found[1] else PASSED if found[3] is None else SKIPPED, found[2], found[3] or ''))
			elif empty:
				self.why = empty[1]
		self.outcome = {'OK': PASSED, 'SKIP': SKIPPED}.get(test['result'], FAILED)

	def is_of(self, file):
		wanted = PROGRAMS.get(file, '/tests/' + file)
		return any(part.endswith(wanted) for part in self.command)


def read_log(build):
	log = pathlib.Path(build, 'meson-logs', 'testlog.json')
	if not log.exists():
		sys.exit('cases.py: no tests were run in %s' % build)
	with open(log, encoding='utf-8', errors='replace') as lines:
		return [Program(json.loads(line)) for line in lines]


def became(one, log, by_hand):
	"""The outcome of one test, and why"""
	file, _, name = one.partition(': ')
	if file in BY_HAND:
		code = by_hand.get(one, by_hand.get(file))
		if code is None:
			return BY_HAND_NOT_RUN, 'not run this time'
		return {'0': (PASSED, ''), '77': (SKIPPED, 'cannot run here')}.get(code, (FAILED, 'ended with ' + code))
	of_file = '/tests/%s:' % file
	words = WORDS.get(one, name.replace('_', ' ') if file.endswith('.sh') else name)
	programs = [p for p in log if p.is_of(file)]
	if programs:
		lines = [line for p in programs for line in p.lines if not words or is_in(line[1], words)]
	else:		# libcheck's: FILE:CASE:TEST: what became of it
		programs = [p for p in log if any(of_file in line[1] for line in p.lines)]
		# a test whose last check was in a header has the header's name
		place = re.compile(r'(%s|\.h):.*:%s:' % (re.escape(of_file[:-1]), re.escape(words)))
		lines = [line for p in programs for line in p.lines if place.search(line[1])]
	lines += [(p.outcome, '', p.why) for p in programs if not words or (not lines and p.outcome == SKIPPED)]
	if not lines:
		return NOT_RUN, 'did not run'
	worst = max(lines)
	return worst[0], 'failed' if worst[0] == FAILED else worst[2] or 'skipped'


def check_outcomes(tap, run, log, by_hand):
	"""How many cases passed, were skipped, were left to a run by hand; and what is wrong with the others"""
	count, bad = [0] * 5, []
	for row in run:
		outcomes = [became(one, log, by_hand) + (one,) for one in row[2].split('; ')]
		worst = max(outcomes)
		count[worst[0]] += 1
		for outcome, why, one in outcomes:
			if outcome in (NOT_RUN, FAILED):
				bad.append('%s: %s: %s' % (row[0], one, why))
			elif outcome != PASSED:
				print('# %s: %s: %s' % (row[0], one, why))
	tap.ok(not bad, 'each case that can be tried here was, and none failed', '\n'.join(bad))
	return count


def arguments():
	"""whole, the build or None, {test: code}"""
	given = [a for a in sys.argv[1:] if a != '--all']
	if not given:
		return '--all' in sys.argv, None, {}
	if given[0] != '--ran' or len(given) < 2:
		sys.exit(__doc__)
	return '--all' in sys.argv, given[1], dict(a.rpartition('=')[::2] for a in given[2:])


def main():
	tap, table, awaited, wrong = Tap(), list(rows()), set(), []
	whole, build, by_hand = arguments()
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
	if build:
		unknown = sorted(set(by_hand) - BY_HAND - {one for row in run for one in row[2].split('; ')})
		tap.ok(not unknown, 'each test that was run by hand is one of the table', unknown)
		count = check_outcomes(tap, run, read_log(build), by_hand)
		print('# %d cases: %d run and passed, %d skipped, %d left to a longer run, %d failed, %d did not run, %d not possible here' % (
			len(table), count[PASSED], count[SKIPPED], count[BY_HAND_NOT_RUN], count[FAILED], count[NOT_RUN], len(table) - len(run)))
	else:
		print('# %d cases: %d with tests, %d not possible here' % (len(table), len(run), len(table) - len(run)))
	tap.done()


main()
