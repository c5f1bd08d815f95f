"""test_spec.py - format-spec.md against itself, the second reader, lib/file/layout.h and the files in tests/golden

test_spec.py SOURCE-ROOT [C-COMPILER...]
"""

import functools
import os
import re
import struct
import subprocess
import sys
import tempfile

import bloomery_reader as reader
import golden
from tap import Tap

ROOT = sys.argv[1] if len(sys.argv) > 1 else os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', '..')
COMPILER = sys.argv[2:] or ['cc']
GOLDEN = os.path.join(ROOT, 'tests', 'golden')

with open(os.path.join(ROOT, 'format-spec.md'), encoding='utf-8') as f:
	TEXT = f.read()


def section(title):
	return re.search(r'^## %s\n(.*?)(?=^## |\Z)' % re.escape(title), TEXT, re.S | re.M)[1]


def tables(text):
	"""Each table of a text: a list of rows, each a list of cells, the head first."""
	for block in re.findall(r'(?:^\|.*\n)+', text, re.M):
		rows = [[cell.strip() for cell in line.strip().strip('|').split('|')] for line in block.splitlines()]
		yield rows[:1] + rows[2:]


def table(title, *head):
	return next(t[1:] for t in tables(section(title)) if t[0][:len(head)] == list(head))


# Section, base of its offsets in the struct, where the struct ends, the C struct, the second reader's table
STRUCTS = [
	('Page 0: constant', 0, 4096, 'blm_constant', reader.CONSTANT),
	('Template fields', 128, 2304, 'blm_template_fields', reader.CONSTANT),
	('Page 1: live words', 0, 4096, 'blm_live', reader.LIVE),
	('Sync records', 0, 64, 'blm_sync_record', reader.SYNC),
	('Page 2: part table', 0, 64, 'blm_part_entry', reader.ENTRY),
	('Guards', 0, 16, 'blm_block_record', reader.BLOCK_RECORD),
	('Page 3: name records', 0, 2048, 'blm_record', reader.RECORD),
	('Page 4: count of keys', 0, 64, 'blm_stripe', {'keys': (0, 'Q')}),
]


@functools.cache
def fields(title):
	return [(int(r[0]), int(r[1]), r[2], r[3]) for r in table(title, 'offset', 'bytes', 'field')]


def contiguous(title, base, end):
	at, wrong = base, []
	for offset, size, name, _ in fields(title):
		if offset != at:
			wrong.append('%s is at %d, the field before it ends at %d' % (name, offset, at))
		at = offset + size
	return wrong + (['the fields end at %d, not %d' % (at, end)] if at != end else [])


def reader_agrees(title, theirs):
	wrong = []
	for offset, size, name, _ in fields(title):
		if name not in theirs or name == 'template':
			continue
		at, form = theirs[name]
		if at != offset or struct.calcsize('<' + form) != (8 if title.startswith('Page 1') else size):
			wrong.append('%s: %d bytes at %d; the reader has %s at %d' % (name, size, offset, form, at))
	return wrong


# ---- lib/file/layout.h: the compiler checks the tables ----

def assertion(holds, words):
	return 'static_assert(%s, "%s");' % (holds, words)


def program():
	lines = ['#include "file/layout.h"']
	for title, base, end, name, _ in STRUCTS:
		for offset, size, field, _ in fields(title):
			where = '%s, %s' % (title, field)
			lines.append(assertion('offsetof(struct %s, %s) == %d' % (name, field, offset - base), where))
			lines.append(assertion('sizeof(((struct %s *)0)->%s) == %d' % (name, field, size), where))
		lines.append(assertion('sizeof(struct %s) == %d' % (name, end - base), title))
	values = {field: value for _, _, field, value in fields('Page 0: constant')}
	lines.append(assertion('BLM_FORMAT_VERSION == %s' % values['version'], 'version'))
	lines.append(assertion('BLM_HEADER_BYTES == %s' % values['header_bytes'], 'header_bytes'))
	for number, state, _ in table('Page 1: live words', 'state', 'name'):
		lines.append(assertion('BLM_%s == %s' % (state.upper(), number), 'state'))
	flags = next(value for name, value in table('Versions and features', 'what') if name == 'flags')
	for bit, flag in re.findall(r'bit (\d) (\w+)', flags):
		lines.append(assertion('BLM_FLAG_%s == 1 << %s' % (flag.upper(), bit), 'flags'))
	for row in table('Layout', 'offset', 'bytes', 'page'):
		page = ('constant', 'live', 'part', 'record', 'stripe')[int(row[2])] if row[2] != '.' else None
		if page:
			lines.append(assertion('offsetof(struct blm_header, %s) == %s' % (page, row[0]), 'Layout'))
			lines.append(assertion('sizeof(((struct blm_header *)0)->%s) == %s' % (page, row[1]), 'Layout'))
	return '\n'.join(lines) + '\n'


def sections_named_in_the_header():
	with open(os.path.join(ROOT, 'lib', 'file', 'layout.h'), encoding='utf-8') as f:
		named = set(re.findall(r'"format-spec\.md, (.*?)"', f.read()))
	return sorted(name for name in named if not re.search(r'^## %s$' % re.escape(name), TEXT, re.M)) or ([] if named else ['none'])


def header_agrees():
	with tempfile.TemporaryDirectory() as folder:
		path = os.path.join(folder, 'tables.c')
		with open(path, 'w') as f:
			f.write(program())
		r = subprocess.run(COMPILER + ['-std=gnu11', '-D_GNU_SOURCE', '-fsyntax-only', '-I', os.path.join(ROOT, 'lib'), path],
			capture_output=True, text=True)
	return [line for line in r.stderr.splitlines() if 'error' in line] or [r.stderr] if r.returncode else []


# ---- Examples in the text ----

BY_PROBE = {c.__name__: c for c in reader.FAMILIES.values() if issubclass(c, reader.ByProbe)}


def family_of(name, parameters):
	word = re.sub(r'^(seed|tweak) (\w+).*|^secret `(.*)`', lambda m: m[2] or m[3], parameters)
	if name in BY_PROBE:
		return BY_PROBE[name]([int(x, 0) for x in word.removeprefix('seeds ').split(',')], 0, None)
	return {
		'xxh3': lambda: reader.Xxh3([int(word, 0)], 0, None),
		'siphash': lambda: reader.SipHash([], 0, bytes.fromhex(word)),
		'murmur3-bip37': lambda: reader.Murmur3Bip37([], int(word, 0), None),
		'siphash64': lambda: reader.SipHash64([int(x, 0) for x in parameters.removeprefix('seeds ').split(',')], 0, None),
		'xxh64': lambda: reader.Xxh64([], 0, None),
		'xxh3-64': lambda: reader.Xxh3Of64([int(word, 0)], 0, None),
		'murmur64a-64': lambda: reader.Murmur64([], 0, None),
		'integer': lambda: reader.Integer([], 0, None),
	}[name]()


def key_of(cell):
	return b'' if cell == '-' else bytes.fromhex(cell.strip('`'))


def hash_examples():
	wrong = []
	for name, parameters, key, lo, hi in table('Hash families', 'family', 'seed, secret or tweak, and probe'):
		h = family_of(name, parameters).hash(key_of(key))
		got = h if hi else (h(int(parameters.split()[-1])),)
		if got != tuple(int(x, 16) for x in (lo, hi) if x):
			wrong.append('%s, %s, %s' % (name, parameters, key))
	return wrong


def cell_examples():
	wrong = []
	for name, parameters, key, cells, want in table('Cells of a key', 'family', 'seed, secret or tweak'):
		want = [int(x) for x in want.split(',')]
		if reader.cells_of(family_of(name, parameters), key_of(key), len(want), int(cells)) != want:
			wrong.append('%s, %s' % (name, parameters))
	return wrong


def block_examples():
	wrong = []
	for name, parameters, key, cells, block, want in table('Kind 2: blocked', 'family', 'seed or secret'):
		want = [int(block) * 512 + int(x) for x in want.split(',')]
		part = type('Part', (), {'cells': int(cells), 'probes': len(want)})
		if reader.Blocked.bits(family_of(name, parameters), key_of(key), part) != want:
			wrong.append('%s, %s' % (name, parameters))
	return wrong


def split_block_examples():
	wrong = []
	for name, parameters, key, cells, block, want in table('Kind 3: split-block', 'family', 'seed or secret'):
		want = [int(block) * 256 + int(x) for x in want.split(',')]
		part = type('Part', (), {'cells': int(cells)})
		if reader.SplitBlock.bits(family_of(name, parameters), key_of(key), part) != want:
			wrong.append('%s, %s' % (name, parameters))
	return wrong


def salts_are_told():
	told = re.search(r'SALT = (.*)', section('Kind 3: split-block'))[1]
	return [] if tuple(int(x, 16) for x in told.split(',')) == reader.SplitBlock.SALTS else [told]


def signature_examples():
	wrong = []
	for name, parameters, key, cells, bits, home, word, shift, want in table('Kind 5: hash-compact', 'family', 'seed or secret'):
		part = type('Part', (), {'cells': int(cells), 'cell_bits': int(bits)})
		walk = reader.HashCompact.walk(bytes(8 * int(word) + 8), 0, family_of(name, parameters), key_of(key), part)
		each = 64 // int(bits)
		if next(walk) != int(want, 16) or next(walk)[:2] != (8 * int(word), int(shift)) or (int(home) // each, int(home) % each * int(bits)) != (int(word), int(shift)):
			wrong.append('%s, %s' % (name, parameters))
	return wrong


def ribbon_examples():
	wrong = []
	for name, parameters, key, n, share, *given in table('Kind 17: ribbon', 'family', 'seed or secret'):
		lo, hi = family_of(name, parameters).hash(key_of(key))
		word = [reader.unfold(lo, hi, i) for i in range(5)]
		slots = [slots for _, slots in reader.Ribbon.layers(int(n), int(share))][:2]
		starts = [str(reader.Ribbon.start(hi if i == 0 else word[3 + i], slots[i])) if i < len(slots) else '-' for i in range(2)]
		want = ['%#034x' % (word[1] << 64 | word[0] | 1), '%#018x' % word[2], *starts, *(str(reader.scale(word[2], q)) for q in (3, 5))]
		if given != want:
			wrong.append('%s, %s: %s' % (name, key, ' | '.join(want)))
	return wrong


def examples_of_cells():
	wrong = []
	for name, parameters, key, seed, segments, shift, cells, word in table('Tables of cells', 'family', 'seed or secret'):
		lo, hi = family_of(name, parameters).hash(key_of(key))
		want = ', '.join(map(str, reader.Tables.cells(lo, hi, hi, 4, int(seed), int(segments), int(shift)))), '%#018x' % reader.unfold(lo, hi, 0)
		if want != (cells, word):
			wrong.append('%s, %s: %s | %s' % (name, parameters, *want))
	return wrong


def worked_example():
	text = section('Worked example')
	with open(os.path.join(GOLDEN, re.search(r'tests/golden/(\S+\.blm)', text)[1]), 'rb') as f:
		image = f.read()
	lines = re.findall(r'^    +(\d+)  ((?:[0-9a-f]{2} ?)+)', text, re.M)
	wrong = [] if len(lines) > 10 else ['only %d lines of bytes' % len(lines)]
	for offset, bytes_ in lines:
		want, at = bytes.fromhex(bytes_), int(offset)
		if image[at:at + len(want)] != want:
			wrong.append('%d: the file has %s' % (at, image[at:at + len(want)].hex(' ')))
	f = reader.Filter(image)
	key = re.search(r'The key `(.*?)` hashes', text)[1].encode()
	for probe, word, cell, byte, bit, is_set in table('Worked example', 'probe', 'word'):
		want = reader.unfold(*f.family.hash(key), int(probe))
		at = reader.scale(want, f.constant.cells)
		said = int(word, 16), int(cell), int(byte), int(bit), int(is_set)
		if said != (want, at, at // 8, at % 8, f.is_set(f.parts[0], at)):
			wrong.append('probe ' + probe)
	return wrong


# ---- A real file has its fields where the tables say ----

def read_as_documented(image, title, base, field):
	offset, size = next((o, s) for o, s, name, _ in fields(title) if name == field)
	return image[base + offset:base + offset + size]


def number(image, title, base, field):
	return int.from_bytes(read_as_documented(image, title, base, field)[:8], 'little')


def numbers_in(text):
	""""1 to 4, 11": 1, 2, 3, 4, 11."""
	for first, last in re.findall(r'(\d+)(?: to (\d+))?', text):
		yield from range(int(first), int(last or first) + 1)


GROUPS = {name: list(numbers_in(kinds)) for name, _, kinds in table('How kinds change', 'name')}


def each_kind_is_in_one_group():
	kinds = sorted(int(number) for number in re.findall(r'^## Kind (\d+): ', TEXT, re.M))
	grouped = sorted(kind for group in GROUPS.values() for kind in group)
	wrong = ['kind %d has a section, and no row of the table in "How kinds change": add it to the row of its protocol '
		'(lib/kind/kind.h, enum blm_protocol)' % kind for kind in kinds if kind not in grouped]
	wrong += ['kind %d is in the table of "How kinds change" and has no section' % kind for kind in grouped if kind not in kinds]
	return wrong or ([] if grouped == kinds else ['a kind is in two rows of "How kinds change": %s' % grouped])


def split_kinds_agree():
	wrong, one, several = [], set(), set()
	for kinds, belongs, _ in table('Parts of a split filter', 'kind', 'a key belongs to'):
		(one if belongs == 'one part' else several).update(numbers_in(kinds))
	for name, ours, theirs in ('one part', one, set(reader.ONE_PART)), ('several parts', several, set(reader.SPLIT_KINDS) - set(reader.ONE_PART)):
		wrong += ['of kind %d a key belongs to %s: add it to that row of the table in "Parts of a split filter" of '
			'format-spec.md' % (kind, name) for kind in sorted(theirs - ours)]
		wrong += ['of kind %d a key belongs to %s: add it to ONE_PART or SPLIT_KINDS of bloomery_reader.py'
			% (kind, name) for kind in sorted(ours - theirs)]
	return wrong


def file_agrees(g):
	image, said, wrong = g.image, g.fields, []

	def same(what, got, want):
		if got != want:
			wrong.append('%s is %r; its maker said %r' % (what, got, want))

	def constant(field):
		return number(image, 'Page 0: constant', 0, field)

	def template(field):
		return number(image, 'Template fields', 0, field)

	same('uuid', read_as_documented(image, 'Page 0: constant', 0, 'uuid').hex(), said['uuid'])
	same('template_id', read_as_documented(image, 'Page 0: constant', 0, 'template_id').hex(), said['template_id'])
	same('rate', struct.unpack('<d', read_as_documented(image, 'Page 0: constant', 0, 'rate'))[0], float(said['rate']) or 2**-1022)
	for field in ('version', 'created', 'capacity'):
		same(field, constant(field), int(said[field]))
	second = int(said['kind']) in GROUPS['moving kinds'] and said['sealed'] == '0' and g.name != 'iblt-xxh3'	# make.c leaves it out
	same('flags', constant('flags'), int(said['sparse']) + 2 * int(said['sealed']) + 4 * second)
	origins = {name: int(number) for number, name, _ in table('Other forms', 'number', 'format')}
	same('origin', constant('origin'), origins[said['origin']] if 'origin' in said else 0)
	same('origin head', any(read_as_documented(image, 'Page 0: constant', 0, 'origin_head')), 'origin' in said)
	same('kind', template('kind'), int(said['kind']))
	same('family', template('family'), int(said['family']))
	for field in ('cells', 'probes', 'cell_bits', 'tweak', 'seed_count'):
		same(field, template(field), int(said[field]))
	same('key_id', read_as_documented(image, 'Template fields', 0, 'key_id').hex(), said['key_id'])
	seeds = struct.unpack('<256Q', read_as_documented(image, 'Template fields', 0, 'seeds'))
	same('seeds', list(seeds[:int(said['seed_count'])]), [int(seed, 0) for seed in said.get('seed', '').split()])
	same('seeds not in use', any(seeds[int(said['seed_count']):]), False)
	composite = int(said['kind']) in reader.COMPOSITES
	for field in ('cells', 'probes', 'cell_bits') if composite else ('kind', 'cells', 'probes', 'cell_bits', 'capacity'):
		same('part ' + field, number(image, 'Page 2: part table', 8192, field), int(said[field]))
	parts = number(image, 'Page 1: live words', 4096, 'parts')
	entries = [8192 + 64 * i for i in range(parts)]
	same('part bytes', sum(number(image, 'Page 2: part table', at, 'bytes') for at in entries), int(said['data_bytes']))
	end, behind = sum(number(image, 'Page 2: part table', entries[-1], field) for field in ('offset', 'bytes')), 0
	if second:
		end, behind = (end + 4095) // 4096 * 4096, 2 * (4096 + (int(said['data_bytes']) + 4095) // 4096 * 4096)
	same('part end', end + behind, len(image))
	same('one part', parts == 1, not composite)
	same('inexact', number(image, 'Page 1: live words', 4096, 'inexact') != 0, said['keys_estimated'] == '1')
	same('keys', sum(number(image, 'Page 4: count of keys', 16384 + 64 * i, 'keys') for i in range(64)), int(said['keys']))
	part = g.open().parts[0]
	same('guard', part.offset - 20480, reader.blocksum_bytes(part.bytes))
	same('suspect', g.open().suspect(), False)
	same('dirty', g.open().dirty(), said['dirty'] == '1')
	same('synced', getattr(g.open().last_sync(), 'time', 0), int(said['synced']))
	same('name', g.open().name().decode(), said.get('name', ''))
	return wrong


def reserved_bytes():
	wrong = []
	for g in golden.all(GOLDEN):
		places = [('Page 0: constant', 0), ('Template fields', 0), ('Page 1: live words', 4096)]
		places += [('Page 4: count of keys', 16384 + 64 * i) for i in range(64)]
		places += [('Sync records', 4544), ('Sync records', 4608)]
		places += [('Page 3: name records', 12288), ('Page 3: name records', 14336)]
		for title, base in places:
			wrong += ['%s: %s, %s' % (g.name, title, field) for _, _, field, _ in fields(title)
				if field.startswith('reserved') and any(read_as_documented(g.image, title, base, field))]
		wrong += ['%s: the line of %s' % (g.name, field) for offset, size, field, _ in fields('Page 1: live words')
			if size == 64 and any(g.image[4096 + offset + 8:4096 + offset + 64])]
	return wrong


tap = Tap()
for title, base, end, _, theirs in STRUCTS:
	tap.run('%s: no gap and no overlap' % title, contiguous, title, base, end)
	tap.run('%s: the second reader has the same table' % title, reader_agrees, title, theirs)
tap.run('lib/file/layout.h has the same tables', header_agrees)
tap.run('lib/file/layout.h names sections that there are', sections_named_in_the_header)
tap.run('examples of hashes', hash_examples)
tap.run('examples of cells', cell_examples)
tap.run('examples of blocks', block_examples)
tap.run('examples of split blocks', split_block_examples)
tap.run('the salts of split blocks', salts_are_told)
tap.run('examples of signatures', signature_examples)
tap.run('what the text says of the words of ribbons is so', ribbon_examples)
tap.run('examples of cells in tables', examples_of_cells)
tap.run('each kind is in one group', each_kind_is_in_one_group)
tap.run('the kinds that split are the second reader\'s', split_kinds_agree)
tap.run('the worked example is in its file', worked_example)
for g in golden.all(GOLDEN):
	tap.run('%s has its fields where the tables say' % g.name, file_agrees, g)
tap.run('reserved bytes are zeros', reserved_bytes)
tap.run('the table of contents is whole', lambda: sorted(set(re.findall(r'^## (.*)', TEXT, re.M))
	^ set(re.findall(r'^- \[(.*?)\]\(#', TEXT, re.M))))
tap.done()
