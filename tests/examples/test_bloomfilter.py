"""test_bloomfilter.py - the example in Python keeps the calls of pybloomfiltermmap3, and what its users rely on

test_bloomfilter.py LAYOUT-PROGRAM [VECTORS-FOLDER]

Every function that begins with a letter is a test, its name a true sentence; each runs in a folder of its own. With a
folder of vectors, files of pybloomfiltermmap3 are opened where they lie and asked what that program was asked.
"""

import copy
import csv
import ctypes
import functools
import glob
import json
import os
import pickle
import subprocess
import sys
import tempfile

import bloomfilter
from bloomfilter import BloomFilter
from tap import Tap

SEEDS = [1, 2, 3]

# What BloomFilter.to_base64() of pybloomfiltermmap gave in 2010, for a filter with MIKE in it.
MIKE = '''\
eJwFwcuWgiAAANC9v+JCx7By0QKt0GHEbKSknflAQ9QmTyRfP/fW5E9XTRSXqcLlqGNXphAqcfVH
RoNv0n4JlTpIvAP0e1+RyXX6I637ggA+VPZnTYR1A4Um5s9geYaZZLiT208JIiG3iwhf3Fwlzb3Y
5NRL4uNQS6/d9OvTDJbnZMnRzcrplOX5kmsVIkQziM+vw4hCDQ3OkN9m3WVfPWzGfaTeRftMCLws
PnzEzsgjAW60xZTBbj/bOAgYbK50PqjdzvgHZ6FHZw==
'''


def _made(filename=None, keys=(), **more):
	f = BloomFilter(100, 0.1, filename, hash_seeds=SEEDS, **more)
	f.update(keys)
	return f


def _raises(kind, call, *args, says=''):
	try:
		call(*args)
	except kind as e:
		assert type(e) is kind and says in str(e), repr(e)
		return e
	raise AssertionError('no %s of %r%r' % (kind.__name__, call, args))


def _mode_of(path):
	return os.stat(path).st_mode & 0o777


# ---- Keys ----

def add_tells_whether_a_key_was_there():
	f = _made('f')
	assert f.add('apple') is False and f.add('apple') is True
	assert 'apple' in f and 'mike' not in f and len(f) == 1
	assert f.update(['apple', 'banana']) is None and len(f) == 2


def text_is_utf8_and_bytes_are_themselves():
	f = _made(keys=['ä', '', b'\0\0x'])
	assert 'ä'.encode() in f and b'\xe4' not in f
	assert b'' in f and b'\0\0x' in f and b'\0\0' not in f


def integers_go_by_their_hash():
	f = BloomFilter(1000, 1e-9)
	f.update([1, -1, 2**70])
	assert all(key in f for key in (1, True, -1, -2, 2**70, b'\1' + bytes(7), b'\xfe' + b'\xff' * 7, hash(2**70)))
	assert 2 not in f and '1' not in f


def bytes_like_keys_are_their_bytes():
	f = BloomFilter(1000, 1e-9)
	f.update([bytearray(b'ab'), memoryview(b'cd')])
	assert all(key in f for key in ('ab', b'cd', memoryview(b'ab'), bytearray(b'cd'))) and b'ac' not in f


class _Salted(int):
	def __hash__(self):
		return hash('differs from process to process')


def every_key_that_is_taken_is_found_by_other_processes():
	keys = "['text', 'ä', b'bytes', bytearray(b'array'), memoryview(b'view'), 1, -1, 2**63, True]"
	_made('f', eval(keys) + [_Salted(77)])
	for seed in '1', '2':
		subprocess.run([sys.executable, '-c', 'import sys; from bloomfilter import BloomFilter; '
			'f = BloomFilter.open("f"); sys.exit(not all(key in f for key in %s + [77]))' % keys],
			check=True, env=dict(os.environ, PYTHONHASHSEED=seed))


def what_has_no_bytes_of_its_own_is_no_key():
	f = _made()
	for key in ((3, 4), None, frozenset('ab'), 2.5, 1j, object(), len, int, ['a'], {}):
		for call in f.add, f.__contains__, lambda key: f.update([key]):
			_raises(TypeError, call, key, says=type(key).__name__ + ': a key is str, bytes-like or int')
	assert len(f) == 0


def what_needs_a_path_refuses_none():
	f = _made(keys=['a'])
	for wrong in None, 7, ['x']:
		_raises(TypeError, f.export, wrong)
		_raises(TypeError, BloomFilter.open, wrong)
	assert 'a' in f and os.listdir() == []


def handles_are_not_copied_or_pickled():
	f = _made('f', keys=['a'])
	for f in f, _made(keys=['a']), BloomFilter.open('f', 'r'):
		for call in copy.copy, copy.deepcopy, *(functools.partial(pickle.dumps, protocol=n) for n in range(6)):
			_raises(TypeError, call, f, says='cannot be copied or pickled')
		with tempfile.TemporaryDirectory() as folder:
			twin = f.copy(os.path.join(folder, 'g'))
			f.close()
			assert 'a' in twin
			twin.close()


def no_key_is_ever_missed_and_the_rate_is_kept():
	for rate in (0.1, 0.01, 0.001, 0.0001):
		f = BloomFilter(1000, rate)
		f.update(range(1000))
		assert all(key in f for key in range(1000))
		wrong = sum(key in f for key in range(1000, 21000)) / 20000
		assert wrong <= 1.5 * rate + 0.0005, (rate, wrong)


# ---- Numbers ----

def a_filter_tells_its_parameters():
	f = BloomFilter(1000, 0.01, 'f')
	assert f.capacity == 1000 and f.error_rate == 0.01 and f.name == 'f' and not f.read_only
	assert len(f.hash_seeds) == f.num_hashes and all(0 <= seed < 2**32 for seed in f.hash_seeds)
	assert f.hash_seeds.tolist() != BloomFilter(1000, 0.01).hash_seeds.tolist()
	assert (1 - (1 - 1 / f.num_bits) ** (f.num_hashes * f.capacity)) ** f.num_hashes <= f.error_rate
	assert repr(f) == '<BloomFilter capacity: 1000, error: 0.010, num_hashes: %d>' % f.num_hashes


def seeds_say_how_many_hashes_there_are():
	f = _made()
	assert f.hash_seeds.tolist() == SEEDS and f.num_hashes == 3
	assert f.num_bits >= 480	# what pybloomfiltermmap3 has for these
	assert BloomFilter(100, 0.1, hash_seeds=[2**32 - 1]).hash_seeds.tolist() == [2**32 - 1]
	assert len(BloomFilter(100, 0.1, hash_seeds=[]).hash_seeds) > 0
	assert BloomFilter(100, 0.1, hash_seeds=range(256)).num_hashes == 256


def seeds_alone_determine_the_bits():
	a, b, c = _made('a', 'xyz'), _made(None, 'zyx'), BloomFilter(100, 0.1, hash_seeds=[1, 2, 4])
	c.update('xyz')
	assert a.bit_array == b.bit_array != 0 and a.data_array == b.data_array and a.bit_array != c.bit_array


def the_bits_can_be_had_and_counted():
	f = _made()
	assert f.bit_array == 0 == f.bit_count and len(f.data_array) == (f.num_bits + 7) // 8
	f.add('apple')
	assert f.bit_count == f.num_hashes == bin(f.bit_array).count('1')
	assert f.bit_array == int.from_bytes(f.data_array, 'big')


def counts_and_estimates_agree():
	f = BloomFilter(1000, 0.01, 'f')
	assert len(f) == f.approx_len == 0
	f.update(range(1000))
	assert abs(len(f) - 1000) < 20 and abs(f.approx_len - 1000) < 100
	f.clear_all()
	assert len(f) == f.approx_len == f.bit_count == 0 and 1 not in f


def a_full_filter_has_at_least_as_many_keys_as_bits_tell():
	f = BloomFilter(1, 0.5, hash_seeds=[1])
	f.update(range(100 * f.num_bits))
	assert f.bit_count == f.num_bits <= f.approx_len <= 100 * f.num_bits


# ---- Files ----

def keys_and_their_number_are_there_when_it_is_opened_again():
	f = _made('f', ['apple', 'banana'])
	f.sync()
	g = BloomFilter.open('f')
	assert len(g) == 2 and 'apple' in g and g.hash_seeds == f.hash_seeds and g.capacity == 100
	g.add('pear')
	f.close()
	assert 'pear' in BloomFilter.open('f', 'r') and len(BloomFilter.open('f', 'r')) == 3


def other_processes_see_it():
	f = _made('f')
	subprocess.run([sys.executable, '-c', 'from bloomfilter import BloomFilter; BloomFilter.open("f").add("apple")'], check=True)
	assert 'apple' in f and len(f) == 1


def making_one_replaces_what_was_there():
	_made('f', ['apple'])
	old = os.stat('f').st_ino
	f = _made('f')
	assert 'apple' not in f and len(f) == 0 and os.stat('f').st_ino != old
	with tempfile.NamedTemporaryFile(dir='.') as empty:
		assert 'apple' in _made(empty.name, ['apple']) and 'apple' in BloomFilter.open(empty.name)


def files_of_other_sorts_are_not_replaced():
	with open('letter', 'w') as letter:
		letter.write('Dear Mike')
	_raises(ValueError, _made, 'letter', says='letter')
	assert open('letter').read() == 'Dear Mike'


def permissions_are_as_asked_less_the_umask():
	before = os.umask(0o022)
	try:
		f = _made('f')
		assert _mode_of('f') == 0o755
		_made('f', perm=0o640), f.copy_template('t', 0o600), BloomFilter.from_base64('b', f.to_base64(), 0o666)
		assert (_mode_of('f'), _mode_of('t'), _mode_of('b')) == (0o640, 0o600, 0o644)
		f.copy('c')
		assert _mode_of('c') == 0o640
		os.umask(0)
		_made('g', perm=0o775)
		assert _mode_of('g') == 0o775 and os.umask(0o022) == 0
	finally:
		os.umask(before)


def paths_may_be_bytes_or_path_objects():
	import pathlib
	_made(b'f', ['apple'])
	assert 'apple' in BloomFilter.open(pathlib.Path('f')) and BloomFilter.open(b'f').name == 'f'
	assert 'apple' in BloomFilter.open('f').copy(b'g') and 'apple' in BloomFilter.open('f').copy(pathlib.Path('h'))
	_raises(ValueError, BloomFilter.open, 'f\0g')


def after_closing_nothing_works_but_closing():
	f, other = _made('f'), _made()
	f.close()
	f.close()
	for call in (lambda: f.add('x'), lambda: 'x' in f, lambda: len(f), f.sync, f.clear_all, f.to_base64, lambda: f.name, lambda: f.bit_array,
			lambda: f.copy_template('g'), lambda: f.copy('g'), lambda: f.union(other), lambda: other.union(f), lambda: repr(f)):
		_raises(ValueError, call, says='closed')
	assert os.listdir() == ['f']


# ---- Reading only ----

def what_is_opened_for_reading_is_not_changed():
	f, other = _made('f', ['apple']), BloomFilter(5, 0.5)
	r = BloomFilter.open('f', mode='r')
	assert r.read_only and not BloomFilter.open('f').read_only and 'apple' in r
	for call in (lambda: r.add('x'), lambda: r.update(['x']), r.sync, r.clear_all, lambda: r.union(f), lambda: r.intersection(f),
			lambda: r.__ior__(f), lambda: r.__iand__(f), lambda: r.union(other)):
		_raises(ValueError, call)
	assert 'x' not in f and len(f) == 1
	f.add('pear')
	assert 'pear' in r and 'apple' in r.copy('g') and not r.copy('g').read_only


# ---- In memory ----

def a_filter_in_memory_can_do_all_but_tell_its_name():
	f = _made(keys=['apple'])
	_raises(NotImplementedError, lambda: f.name)
	f.sync()
	for g in (f.copy(), f.copy('c'), BloomFilter.from_base64(None, f.to_base64()), BloomFilter.from_base64('b', f.to_base64())):
		assert 'apple' in g and len(g) == 1 and g.bit_array == f.bit_array
	assert sorted(os.listdir()) == ['b', 'c']
	f.clear_all()
	assert 'apple' not in f and len(f) == 0


# ---- Templates, unions, intersections ----

def a_template_is_empty_and_combines():
	f = BloomFilter(100, 0.01, 'f')
	f.add('apple')
	for t in (f.copy_template('t'), f.copy_template()):
		assert 'apple' not in t and len(t) == 0 and t.hash_seeds == f.hash_seeds and t.num_bits == f.num_bits
		t.add('mike')
		assert t.union(f) is t and 'apple' in t and 'mike' in t and 'mike' not in f


def copies_are_full_and_take_the_place_of_what_is_there():
	f = _made('f', ['apple'])
	open('empty', 'w').close()
	c = f.copy('empty')
	assert 'apple' in c and len(c) == 1 and BloomFilter.open('empty').bit_array == f.bit_array
	c.add('pear')
	assert 'pear' not in f
	assert 'apple' not in f.copy_template('empty') and 'apple' in c
	assert sorted(os.listdir()) == ['empty', 'f']


def unions_and_intersections_work_between_files_and_memory():
	for a in (None, 'a'):
		for b in (None, 'b'):
			f, g = _made(a, ['apple', 'pear']), _made(b, ['pear', 'mike'])
			f |= g
			assert all(key in f for key in ('apple', 'pear', 'mike')) and len(f) == 3 and len(g) == 2
			f &= g
			assert 'pear' in f and 'mike' in f and 'apple' not in f and f.bit_array == g.bit_array
			assert f.intersection(_made(None, ['pear'])) is f and 'pear' in f and 'mike' not in f


def after_a_union_the_length_is_an_estimate_also_later():
	f, g = _made('f'), _made(None)
	f.update(range(20))
	g.update(range(10, 30))
	both = f.copy('both')
	both &= g
	f |= g
	assert abs(len(f) - 30) <= 4 and len(f) == f.approx_len == len(BloomFilter.open('f')) and 10 <= len(both) <= 14


def filters_of_different_templates_do_not_combine():
	f = _made('f', ['apple'])
	for other in (BloomFilter(200, 0.1, hash_seeds=SEEDS), BloomFilter(100, 0.1, hash_seeds=[1, 2, 4]), BloomFilter(100, 0.1)):
		for call in (f.union, f.intersection, f.__ior__, f.__iand__, other.union):
			_raises(ValueError, call, f if call == other.union else other, says='do not combine')
	for other in ('apple', None, {'apple'}):
		_raises(TypeError, f.union, other)
	assert len(f) == 1


# ---- Other forms ----

def text_and_back_gives_the_same_filter():
	f = _made('f', ['apple', 'pear'])
	text = f.to_base64()
	assert type(text) is bytes and text.isascii()
	for string in (text, text.decode()):
		g = BloomFilter.from_base64('g', string)
		assert g.bit_array == f.bit_array and len(g) == 2 and g.hash_seeds == f.hash_seeds and g.name == 'g' and not g.read_only
	assert BloomFilter.from_base64('f', _made().to_base64()).bit_array == 0		# in the place of what was there


def a_text_of_2010_is_read():
	for filename in ('mike', None):
		f = BloomFilter.from_base64(filename, MIKE)
		assert 'MIKE' in f and 'mike' not in f and 'apple' not in f
		assert (f.num_bits, f.num_hashes, f.capacity, f.error_rate, f.bit_count, len(f)) == (2411, 17, 100, 0.1, 17, 1)
		assert 'MIKE' in BloomFilter.from_base64(None, f.to_base64())
		f.add('mike')
		assert 'mike' in f


def texts_that_are_none_leave_all_as_it_was():
	f = _made('f', ['apple'])
	text = f.to_base64()
	for string in ('', 'apple', b'QUJD', text[:-8], text[:40], MIKE[:100]):
		_raises(ValueError, BloomFilter.from_base64, 'f', string)
		_raises(ValueError, BloomFilter.from_base64, 'g', string)
	assert os.listdir() == ['f'] and 'apple' in BloomFilter.open('f')


def files_for_pybloomfiltermmap_are_written_and_read_in_place():
	f = _made('f', ['apple', 'pear'])
	f.export('f.bloom')
	assert open('f.bloom', 'rb').read(9) == b'MBITARRAY' and os.path.getsize('f.bloom') == 1280 + f.num_bits // 8
	g = BloomFilter.open('f.bloom', 'r', hash='mm3_64')
	assert 'apple' in g and 'mike' not in g and g.read_only and g.bit_array == f.bit_array and len(g) == 2
	assert 'apple' in g.copy('g') and _made().union(g).bit_array == f.bit_array
	assert 'apple' in BloomFilter.from_base64(None, f.to_base64('pybloomfiltermmap'), hash='mm3_64')
	for mode in ('rw', 'w'):
		_raises(ValueError, BloomFilter.open, 'f.bloom', mode, says='only for reading')


def a_hash_that_no_number_tells_must_be_named():
	f = _made('f', ['apple'])
	f.export('f.bloom')
	assert 'apple' in BloomFilter.open('f.bloom', 'r')	# our exports name it, where their numbers would mislead
	assert 'apple' in BloomFilter.from_base64(None, f.to_base64('pybloomfiltermmap'))
	with open('f.bloom', 'r+b') as file:
		file.seek(1093)
		file.write(bytes(24))
	_raises(ValueError, BloomFilter.open, 'f.bloom', 'r', says='mm3_64')
	_raises(ValueError, BloomFilter.open, 'f.bloom', 'r', 'xxh3')


# ---- Errors ----

def the_system_says_no_by_an_os_error():
	_raises(FileNotFoundError, BloomFilter.open, 'none', says='none')
	_raises(FileNotFoundError, BloomFilter.open, 'none', 'r', says='none')
	for call in (lambda: _made('none/f'), lambda: _made().copy('none/f'), lambda: _made().copy_template('none/f'),
			lambda: BloomFilter.from_base64('none/f', MIKE)):
		_raises(FileNotFoundError, call)
	if os.geteuid():
		_made('f')
		os.chmod('f', 0)
		_raises(PermissionError, BloomFilter.open, 'f')


def parameters_out_of_their_range_are_value_errors():
	for n, e in ((0, 0.1), (-1, 0.1), (2**64 + 1, 0.1), (100, 0), (100, 1), (100, -1), (100, 2), (100, float('nan'))):
		_raises(ValueError, BloomFilter, n, e, 'f')
	for seeds in ([-1], [2**32], [1] * 257):
		_raises(ValueError, lambda: BloomFilter(100, 0.1, 'f', hash_seeds=seeds))
	_raises(TypeError, BloomFilter, 100.5, 0.1, 'f')
	_raises(TypeError, lambda: BloomFilter(100, 0.1, 'f', hash_seeds=['x']))
	_raises(ValueError, BloomFilter, 100, 0.1, '')
	assert os.listdir() == []


def broken_files_are_value_errors():
	_made('f')
	whole = open('f', 'rb').read()
	for broken in (b'', b'BLOOMERY', whole[:100], whole[:-1], b'X' + whole[1:], whole[:20] + b'\xff' * 8 + whole[28:], b'MBITARRAY' * 200):
		with open('broken', 'wb') as file:
			file.write(broken)
		for mode in ('r', 'rw'):
			_raises(ValueError, BloomFilter.open, 'broken', mode, says='broken')


def the_example_has_fewer_than_150_lines_and_no_long_ones():
	with open(bloomfilter.__file__) as file:
		lines = file.read().splitlines()
	assert len(lines) < 150 and max(map(len, lines)) <= 125, (len(lines), max(lines, key=len))


# ---- Beside the C compiler, and pybloomfiltermmap3 ----

def _the_structs_are_laid_out_as_in_c(layout):
	for line in subprocess.check_output([layout], text=True).splitlines():
		name, field, number = line.split()
		struct = getattr(bloomfilter, name.capitalize())
		there = ctypes.sizeof(struct) if field == '-' else getattr(struct, field).offset
		assert there == int(number), (line, there)


def _hash_input(kind, payload):
	return int(payload) if kind == 'i' else bytes.fromhex(payload).decode() if kind == 's' else bytes.fromhex(payload)


def _answers_as_pybloomfiltermmap3_did(path, case):
	f = BloomFilter.open(path, 'r', hash='mm3_64')
	said = case['result']
	assert (f.num_bits, f.num_hashes, f.capacity, f.error_rate) == tuple(said[x] for x in ('num_bits', 'num_hashes', 'capacity', 'error_rate'))
	assert f.bit_count == said.get('bit_count', f.bit_count) and f.approx_len == said.get('approx_len', f.approx_len)
	assert f.hash_seeds.tolist() == said['hash_seeds']
	again = f.copy_template()
	with open(path[:-len('.bloom')] + '.tsv', newline='') as rows:
		for row in csv.DictReader(rows, delimiter='\t', quoting=csv.QUOTE_NONE):
			key = _hash_input(row['#kind'], row['payload'])
			assert (key in f) == bool(int(row.get('expect_in') or row['in_A'])), row
			if row['role'] in ('add', 'addA'):
				was = again.add(key)
				assert row['add_returned'] in ('', '-', str(int(was))), row
	assert again.bit_array == f.bit_array


def main(layout, vectors):
	tap, layout = Tap(), os.path.abspath(layout)
	tests = {name: test for name, test in globals().items()
		if name[0].islower() and getattr(test, '__module__', '') == '__main__' and name != 'main'}
	for name, test in tests.items():
		with tempfile.TemporaryDirectory() as folder:
			os.chdir(folder)
			tap.run(name.replace('_', ' '), test)
			os.chdir('/')
	tap.run('the structs are laid out as in C', _the_structs_are_laid_out_as_in_c, layout)
	folder = os.path.join(vectors, 'pybloomfiltermmap')
	if vectors:
		with open(os.path.join(folder, 'manifest.json')) as manifest:
			cases = {case['name']: case for case in json.load(manifest)}
		for path in sorted(glob.glob(os.path.join(folder, 'p3-*.bloom'))):
			name = os.path.basename(path)[:-len('.bloom')]
			if name in cases:
				tap.run('%s answers as pybloomfiltermmap3 did' % name, _answers_as_pybloomfiltermmap3_did, path, cases[name])
	tap.done()


main(sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else '')
