"""test_filter.py - bloomery.Filter and bloomery.Store"""
import array
import ctypes
import errno
import gc
import itertools
import mmap
import multiprocessing
import os
import pickle
import signal
import subprocess
import sys
import threading
import tracemalloc
import unittest
import warnings

import bloomery
from bloomery import Filter

try:
    import numpy
except ImportError:
    numpy = None


class Arrow:
    """What an Arrow array of strings shows of itself, without pyarrow."""

    null_count, type, offset = 0, 'string', 1

    def __init__(self, words, width='i'):
        self.data = ''.join(['skipped', *words]).encode()
        offsets = [0]
        for word in ['skipped', *words]:
            offsets.append(offsets[-1] + len(word.encode()))
        self.offsets, self.count = array.array(width, offsets), len(words)
        self.type = 'string' if width == 'i' else 'large_string'

    def __len__(self):
        return self.count

    def buffers(self):
        return [None, self.offsets, self.data]


def claim_all(f, keys, queue):
    queue.put(f.claim_many(keys).yes)


def small(where=None, **params):
    return Filter.create(where, 10000, 1e-9, **params)


class Keys(unittest.TestCase):
    def test_equal_keys_of_different_types_are_one_key(self):
        f = small()
        self.assertTrue(f.add('schön'))
        for same in 'schön'.encode(), bytearray('schön'.encode()), memoryview('schön'.encode()):
            self.assertIn(same, f)
        self.assertTrue(f.add(-2))
        self.assertIn((-2).to_bytes(8, 'little', signed=True), f)
        self.assertIn(ctypes.c_int64(-2), f)
        self.assertNotIn(2, f)
        self.assertNotIn('-2', f)

    def test_an_invalid_key_is_refused_and_nothing_added(self):
        f = small()
        for wrong in True, 1.5, None, ('a',), ['a'], {}, object(), 1j, f, array.array('q', [-2]), memoryview(bytes(4)).cast('B', (2, 2)):
            for call in f.add, f.claim, f.__contains__, f.test, lambda key: f.add_many(['a', key]), lambda key: f.put(key, 1):
                with self.assertRaisesRegex(TypeError, 'a key is str, bytes-like or int'):
                    call(wrong)
        for number in 2**63, -2**63 - 1:
            self.assertRaises(OverflowError, f.add, number)
        self.assertRaises(UnicodeEncodeError, f.add, '\udc80')
        self.assertEqual(len(f), 0)

    def test_a_batch_answers_as_its_keys_one_by_one(self):
        keys = [str(i) if i % 3 else i for i in range(1000)] + [b'x', b'x', bytearray(b'y'), memoryview(b'z')]
        for call, many in ('add', 'add_many'), ('claim', 'claim_many'):
            for form in list, tuple, iter, lambda keys: (key for key in keys):
                one, all = small(seeds=[7]), small(seeds=[7])
                expected = [getattr(one, call)(key) for key in keys]
                answers = getattr(all, many)(form(keys))
                self.assertEqual(list(answers), expected)
                self.assertEqual(answers.yes, sum(expected))
                self.assertEqual(one, all)
        asked = all.contains_many(['5', 'none', 3])
        self.assertEqual((list(asked), asked.bits, len(asked), asked[-1]), ([True, False, True], b'\x05', 3, True))
        self.assertEqual(list(asked.select(['5', 'none', 3])), ['5', 3])

    def test_an_iterator_of_several_pieces_has_all_answers(self):
        f = Filter(200000, 1e-9)
        answers = f.claim_many(iter(range(140001)))
        self.assertEqual((answers.yes, len(answers)), (140001, 140001))
        self.assertEqual(f.contains_many(range(139999, 140003)).bits, b'\x03')

    def test_an_array_is_keys_of_one_width(self):
        f = small()
        self.assertEqual(f.add_many(array.array('q', range(100))).yes, 100)
        self.assertEqual(f.contains_many(range(101)).yes, 100)
        for wrong in array.array('d', [1.0]), array.array('u', 'a'), memoryview(bytes(16)).cast('B', (2, 2, 4)), 'ab', b'ab', bytearray(b'ab'), \
                mmap.mmap(-1, 4096), memoryview(b'ab'), memoryview(bytes(16)).cast('?'), (ctypes.c_int.__ctype_be__ * 2)(1, 2):
            self.assertRaises(TypeError, f.add_many, wrong)

    @unittest.skipUnless(numpy, 'numpy is not here')
    def test_numpy_arrays_are_keys_by_their_bytes(self):
        f = small()
        self.assertEqual(f.add_many(numpy.arange(50)).yes, 50)
        self.assertIn(49, f)
        self.assertEqual(f.claim_many(numpy.array([b'abc', b'a'], dtype='S3')).yes, 2)
        self.assertIn(b'a\0\0', f)
        self.assertEqual(f.claim_many(numpy.zeros((3, 16), dtype='u1')).yes, 1)
        self.assertEqual(f.claim_many(numpy.zeros(3, 'V16')).yes, 0)
        for wrong in (numpy.array(['a']), numpy.array([1.5]), numpy.arange(4, dtype='>i8'), numpy.array([True]), numpy.array([1j]),
                      numpy.array(['one', 'two'], dtype=object), numpy.array(['2020-01-01'], dtype='M8[D]'), numpy.array(5),
                      numpy.zeros(4, [('a', 'i4')])):
            self.assertRaises(TypeError, f.add_many, wrong)
        self.assertIn(numpy.int64(49), f)
        for wrong in (numpy.float32(1.5), numpy.float64(1.5), numpy.complex64(1), numpy.bool_(True), numpy.datetime64('2020-01-01'),
                      numpy.int32(5), numpy.array([1.5]), numpy.array(5, dtype='>i8'), numpy.array(['ab']), numpy.zeros((2, 2), 'u1'),
                      numpy.arange(2)):
            self.assertRaises(TypeError, f.add, wrong)

    def test_arrow_arrays_are_taken_by_their_buffers(self):
        for width in 'i', 'q':
            f, words = small(), ['', 'a', 'schön', 'a']
            self.assertEqual(list(f.claim_many(Arrow(words, width))), [True, True, True, False])
            self.assertEqual(f.contains_many(words).yes, 4)
            self.assertNotIn('skipped', f)
            self.assertEqual(len(f.add_many(Arrow([], width))), 0)
            self.assertEqual(Filter.build(None, Arrow(words, width), 100).contains_many(words).yes, 4)
        with self.assertRaisesRegex(ValueError, 'the last one is 9'):
            f.packed('add', b'abc', array.array('i', [0, 9]))
        with self.assertRaisesRegex(bloomery.InvalidParameter, 'no offset may be less'):
            f.packed('add', b'abc', array.array('i', [0, 2, 1]))
        self.assertEqual(f.packed('add', b'', array.array('i')).yes, 0)
        with self.assertRaisesRegex(bloomery.InvalidParameter, 'the first one is -2'):
            f.packed('add', b'abc', array.array('i', [-2, 1]))
        with self.assertRaisesRegex(bloomery.InvalidParameter, 'number 1 is -1, and'):
            f.packed('add', b'abc', array.array('q', [0, -1]))
        for wrong in array.array('I', [0, 1]), array.array('h', [0, 1]), array.array('f', [0, 0]), b'\0' * 8, \
                memoryview(bytes(16)).cast('i', (2, 2)), (ctypes.c_int.__ctype_be__ * 2)(0, 1):
            self.assertRaisesRegex(TypeError, 'offsets are a buffer of one dimension', f.packed, 'add', b'abc', wrong)
        self.assertRaisesRegex(ValueError, 'what is "contains".*not .frob.', f.packed, 'frob', b'', array.array('i'))

    def test_keys_leave_and_have_values_where_the_kind_can(self):
        f = Filter(1000, 1e-6, kind='cuckoo')
        f.add_many(['a', 'b'])
        self.assertTrue(f.remove('a'))
        self.assertEqual(list(f.remove_many(['a', 'b'])), [False, True])
        with self.assertRaisesRegex(bloomery.Unsupported, 'cannot|take'):
            small().remove('a')
        levels = Filter(1000, 1e-9, kind='attenuated', options='depth=3')
        self.assertTrue(levels.put('k', 2))
        self.assertEqual((levels.get('k'), levels.get('none', 'absent')), (2, 'absent'))

    def test_many_values_take_the_same_keys_as_other_batches(self):
        new = lambda: Filter(1000, 1e-9, kind='attenuated', options='depth=3')
        for keys in ['a', 1, bytearray(b'b')], array.array('q', [1, 2, 3]), Arrow(['a', 'b', 'c']):
            levels = new()
            self.assertEqual(levels.put_many(keys, iter([2, 1, 2])), 3)
            self.assertEqual(levels.get_many(keys, 'absent'), [2, 1, 2])
            self.assertEqual(levels.contains_many(keys).yes, 3)
            for values in [1], [1, 1, 1, 1]:
                self.assertRaisesRegex(ValueError, f'there are 3 keys, but {len(values)} values', levels.put_many, keys, values)
        self.assertEqual(levels.get_many(iter(['a', 'none']), 'absent'), [2, 'absent'])
        self.assertEqual(levels.get_many(['none', 'b']), [None, 1])
        for wrong in lambda f: f.put_many(['a', 'b'], [1, 'x']), lambda f: f.put_many(['a', 1.5], [1, 2]), lambda f: f.get_many('ab'):
            levels = new()
            self.assertRaises(TypeError, wrong, levels)
            self.assertEqual(len(levels), 0)

    def test_a_filter_grows_beyond_its_rate_only_by_force(self):
        f = bloomery.Filter.create('grown.blm', 1000, 1e-6, kind='recent', options='spare=1', replace=True)
        f.add_many(range(500))
        f.grow()
        self.assertEqual((f.info.capacity, f.contains_many(range(500)).yes), (2000, 500))
        self.assertRaises(bloomery.InvalidParameter, f.grow)
        f.grow(force=True)
        self.assertEqual((f.info.capacity, f.contains_many(range(500)).yes), (4000, 500))

    def test_ages_are_returned_and_keys_claimed_again(self):
        import time
        f = bloomery.Filter(1000, 1e-9, kind='recent', options='span=10d')
        self.assertEqual(f.add_at(['old', 'older'], time.time() - 3 * 86400).yes, 2)
        f.add('new')
        keys = ['new', 'old', 'never']
        self.assertEqual(list(f.contains_within(keys)), [True, True, False])
        self.assertEqual(list(f.contains_within(keys, 86400)), [True, False, False])
        self.assertFalse(f.contains_within(keys, 1e-12)[1])    # a short time, not the span that 0 is
        self.assertEqual(list(f.claim_again(keys, 86400)), [False, True, True])
        self.assertEqual(list(f.claim_again(keys, 86400)), [False, False, False])
        ages = f.ages(['older', 'none', 'new'], default='not seen')
        self.assertAlmostEqual(ages[0], 3 * 86400, delta=10000)
        self.assertEqual(ages[1], 'not seen')
        self.assertEqual(f.ages(['older'], seconds=86400), [None])
        for wrong in (-1, float('nan'), 2**40):
            self.assertRaises(ValueError, f.contains_within, keys, wrong)
        self.assertRaises(ValueError, f.add_at, keys, 0)
        self.assertRaises(bloomery.InvalidParameter, f.contains_within, keys, 86400 * 365)
        self.assertRaises(TypeError, f.ages, [1.5])
        self.assertRaises(bloomery.Unsupported, bloomery.Filter(10, kind='cuckoo').claim_again, keys)

    def test_ranges_are_asked_for(self):
        hashed = {'kind': 'range', 'hash': 'ordered-uint', 'seeds': (5,)}
        for where, keys in ('range-1.blm', [100, 5000]), ('range-2.blm', iter(['100', b'5000'])):
            f = bloomery.Filter.build(where, keys, 2, 1e-6, replace=True, **hashed)
            self.assertTrue(f.contains_range(90, 100))
            self.assertTrue(f.contains_range('100', b'101'))
            self.assertFalse(f.contains_range(200, 1200))
            answers = f.contains_ranges([(0, 99), (4999, 6000), (5000, 5000)])
            self.assertEqual((list(answers), answers.yes), ([False, True, True], 2))
            self.assertEqual(len(f.contains_ranges([])), 0)
            self.assertRaises(bloomery.InvalidParameter, f.contains_range, 2, 1)
            self.assertRaises(bloomery.InvalidParameter, f.contains_range, 'x', 'y')
            self.assertRaises(TypeError, f.contains_range, 1.5, 2)
        self.assertRaises(bloomery.Unsupported, bloomery.Filter(10).contains_range, 1, 2)

    def test_keys_that_are_excluded_are_denied_for_certain(self):
        for keys, others in (range(3000), range(3000, 60000)), ([b'a', 'b'], iter(['c'])), (['a'], None):
            others = list(others) if others is not None else None
            f = bloomery.Filter.build('exact.blm', keys, len(keys), 0.3, kind='exact', exclude=others, replace=True)
            self.assertEqual(f.contains_many(keys).yes, len(keys))
            self.assertEqual(f.contains_many(others or []).yes, 0)
        self.assertRaises(bloomery.Unsupported, bloomery.Filter.build, None, ['a'], 1, kind='ribbon', exclude=['b'])
        self.assertRaises(TypeError, bloomery.Filter.build, None, ['a'], 1, kind='exact', exclude=[None])

    def test_a_filter_is_built_from_the_lines_of_files(self):
        for name, text in ('one', b'a\n\xff b\r\n\n'), ('two', b'c\nlast'), ('none', b''):
            with open(f'{name}.txt', 'wb') as file:
                file.write(text)
        keys = [b'a', b'\xff b\r', b'', b'c', b'last']
        f = Filter.build(None, files=['one.txt', b'two.txt', 'none.txt'], capacity=10, rate=1e-9)
        self.assertEqual((f.contains_many(keys).yes, len(f), b'a\n' in f), (5, 5, False))
        both = Filter.build(None, ['d'], 10, 1e-9, files=['two.txt'], kind='golomb')
        self.assertEqual(both.contains_many(['d', 'c', 'last', 'a']).bits, b'\x07')
        self.assertRaises(TypeError, Filter.build, None, files='one.txt')
        self.assertRaises(FileNotFoundError, Filter.build, 'unbuilt.blm', files=['nowhere'])
        self.assertFalse(os.path.exists('unbuilt.blm'))

    def test_a_filter_that_was_built_is_updated(self):
        f = Filter.build('golomb.blm', ['a', 'b'], 100, 1e-9, kind='golomb', options='counted=1', replace=True)
        f.update(add=['c', array.array('q', [7])[0]], remove=['a'])
        self.assertEqual(list(f.contains_many(['a', 'b', 'c', 7])), [False, True, True, True])
        f.update(remove=iter(['c']))
        self.assertNotIn('c', f)
        f.update(add=Arrow(['d', 'e']))
        self.assertEqual(f.contains_many(['d', 'e']).yes, 2)
        times = Filter.build('times.blm', [100], 10, 1e-6, kind='range', hash='ordered-uint', replace=True)
        times.update(add=[5000])
        self.assertTrue(times.contains_range(4990, 5000))
        with bloomery.Store('updates') as store:
            named = Filter.build('g', ['a'], 10, 1e-9, kind='golomb', store=store)
            named.update(add=['b'])
            self.assertIn('b', store['g'])
            self.assertRaises(bloomery.Unsupported, named.update, remove=['a'])    # it does not count its keys
            self.assertEqual(named.contains_many(['a', 'b']).yes, 2)
        for wrong in {}, {'add': ['a'], 'exclude': ['b']}, {'other': f, 'add': ['a']}, {'add': 'ab'}, {'add': [1.5]}:
            self.assertRaises(TypeError, f.update, **wrong)
        self.assertRaises(bloomery.Unsupported, small('blocked.blm').update, add=['a'])
        self.assertRaisesRegex(ValueError, 'in memory', Filter.build(None, ['a'], 10, kind='golomb').update, add=['a'])

    def test_an_exact_filter_goes_to_others_as_a_delta(self):
        f = Filter.build('now.blm', range(3000), 3000, 0.3, kind='exact', exclude=range(3000, 9000), replace=True)
        old, far = f.copy('old.blm'), f.copy('far.blm')
        keys, others = range(10, 3005), [*range(10), *range(3005, 9000)]
        f.update(add=keys, exclude=others)
        self.assertEqual((f.contains_many(keys).yes, f.contains_many(others).yes), (2995, 0))
        delta = f.export_delta(old)
        self.assertLess(len(delta), 1000)
        for changed in True, False:
            self.assertIs(far.apply_delta(delta), changed)
            self.assertEqual((far.contains_many(keys).yes, far.contains_many(others).yes), (2995, 0))
        self.assertEqual(far.data, f.data)
        self.assertRaises(bloomery.NotAFilter, far.apply_delta, delta[:-1])
        other = Filter.build('other.blm', range(5), 5, 0.3, kind='exact', exclude=range(5, 50), replace=True)
        self.assertRaises(bloomery.Stale, other.apply_delta, delta)
        self.assertRaises(bloomery.TemplateMismatch, f.export_delta, other)
        self.assertRaises(bloomery.Unsupported, small('plain.blm').apply_delta, delta)
        self.assertRaises(TypeError, f.export_delta, 'old.blm')
        for wrong in {'add': keys}, {'exclude': others}, {'add': keys, 'exclude': others, 'remove': ['a']}:
            self.assertRaisesRegex(TypeError, 'an update of kind exact takes', f.update, **wrong)
        self.assertRaises(ValueError, f.apply_delta, delta, secret=b'short')
        far.close()
        self.assertRaises(bloomery.Closed, far.apply_delta, delta)

    def test_every_exception_of_a_batch_has_the_answers(self):
        class Own(Exception):
            pass

        def keys(wrong):
            yield from range(70000)
            yield wrong() if callable(wrong) else wrong

        def fail():
            raise Own('mine')

        for wrong, kind in (fail, Own), (1.5, TypeError), (2**63, OverflowError):
            f = Filter(200000, 1e-9)
            f.add('other')
            with self.assertRaises(kind) as caught:
                f.claim_many(keys(wrong))
            self.assertEqual((caught.exception.used, caught.exception.answers, len(f)), (65536, b'\xff' * 8192, 65537))
        with self.assertRaises(TypeError) as caught:
            f.claim_many(['a', 1.5])
        self.assertEqual((caught.exception.used, caught.exception.answers), (0, b''))

    def test_offsets_that_change_during_a_batch_are_ignored(self):
        rounds = 25 if os.environ.get('BLOOMERY_TEST_SCALE', 'full') == 'full' else 8
        done = subprocess.run([sys.executable, '-c', '''
import array, bloomery, sys, threading
f, count, stop = bloomery.Filter(10**6, 0.01), 2000000, []
offsets = array.array('q', [0] * (count + 1))
view = memoryview(offsets)
def change():
    while not stop:
        view[count // 2] = 2**60
        view[count // 2] = 0
thread = threading.Thread(target=change)
thread.start()
for i in range(int(sys.argv[1])):
    try:
        f.packed('add', b'', offsets)
    except bloomery.InvalidParameter:
        pass
stop.append(1)
thread.join()
print('done')
''', str(rounds)], capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stdout), (0, 'done\n'), done.stderr)

    def test_a_signal_and_close_end_a_batch_without_end(self):
        def stop(*unused):
            raise KeyboardInterrupt

        self.addCleanup(signal.signal, signal.SIGALRM, signal.signal(signal.SIGALRM, stop))
        signal.setitimer(signal.ITIMER_REAL, 0.05)
        with self.assertRaises(KeyboardInterrupt) as caught:
            Filter(1000, 0.01).add_many(itertools.repeat(5))
        self.assertEqual((caught.exception.used % 65536, caught.exception.answers[:2]), (0, b'\x01\0'))
        f = Filter(1000, 0.01)
        with self.assertRaises(bloomery.Closed) as caught:
            f.add_many(f.close() or i for i in itertools.count())
        self.assertEqual((caught.exception.used, len(caught.exception.answers)), (65536, 8192))


class Whole(unittest.TestCase):
    def test_filters_of_one_template_combine(self):
        a = small('a.blm')
        b = a.template()
        a.add_many(['x', 'y'])
        b.add_many(['y', 'z'])
        self.assertEqual([key in (a | b) for key in 'xyz'], [True] * 3)
        self.assertEqual([key in (a & b) for key in 'xyz'], [False, True, False])
        self.assertEqual(a | b, b | a)
        self.assertNotEqual(a, b)
        self.assertEqual(a.copy(), a)
        a |= b
        self.assertIn('z', Filter.open('a.blm', 'r'))
        a &= b
        self.assertNotIn('x', a)
        self.assertRaises(TypeError, lambda: a | 'x')
        with self.assertRaises(bloomery.TemplateMismatch):
            a |= small(seeds=[9])
        self.assertRaises(TypeError, hash, a)

    def test_an_existing_filter_keeps_its_parameters_with_a_warning(self):
        with warnings.catch_warnings():
            warnings.simplefilter('error')
            Filter.open_or_create('kept.blm', 1000, 0.01).add('a')
            Filter.open_or_create('kept.blm', 1000, 0.01)
            Filter.open_or_create('kept.blm')
        with self.assertWarnsRegex(bloomery.DifferentParameters, 'exists with capacity 1000, rate 0.01; '):
            f = Filter.open_or_create('kept.blm', 5, 0.5)
        self.assertIn('a', f)
        self.assertRaises(bloomery.Exists, Filter.create, 'kept.blm', 10)
        self.assertRaises(bloomery.InvalidParameter, Filter.open_or_create, 'none.blm')

    def test_it_tells_what_it_is(self):
        f = Filter.build('told.blm', (str(i) for i in range(1000)), 1000, 0.01)
        self.assertEqual((f.info.capacity, f.info.rate, len(f), f.info.path.endswith('told.blm')), (1000, 0.01, f.info.keys, True))
        self.assertAlmostEqual(f.estimate(True).keys.value, 1000, delta=100)
        self.assertEqual(f.compare(f.copy()).jaccard.value, 1)
        self.assertEqual(bloomery.plan(1000, 0.01).cells, f.info.cells)
        self.assertEqual(bytes(memoryview(f)), f.data)
        self.assertTrue(memoryview(f).readonly)
        self.assertIn('capacity 1000', repr(f))
        self.assertEqual(f.verify(), [])

    def test_a_memoryview_is_the_map_and_shows_changes(self):
        for where in 'viewed.blm', None:
            f = small(where, replace=True)
            view = memoryview(f)
            self.assertEqual((view.readonly, view.nbytes, view.format, bytes(view)), (True, f.info.data_bytes, 'B', bytes(len(view))))
            (Filter.open(where) if where else f).add('a')
            self.assertEqual(bytes(view), f.data)
            self.assertNotEqual(bytes(view), bytes(len(view)))
            self.assertRaises(TypeError, view.__setitem__, 0, 1)
            self.assertRaises(TypeError, (ctypes.c_char * len(view)).from_buffer, f)

    def test_a_memoryview_keeps_a_replaced_files_data(self):
        f = small('kept-view.blm', replace=True)
        f.add('a')
        before, view = f.data, memoryview(f)
        Filter.open('kept-view.blm').clear()
        self.assertNotIn('a', f)
        self.assertEqual((bytes(view), bytes(memoryview(f))), (before, bytes(len(before))))
        view.release()
        f.close()

    def test_a_filter_with_memoryviews_is_not_closed(self):
        f = small()
        f.add('a')
        views = [memoryview(f), memoryview(f)[1:]]
        for view in views:
            self.assertRaisesRegex(BufferError, r'cannot be closed while memoryviews of it exist \(.\)', f.close)
            self.assertIn('a', f)
            view.release()
        f.close()
        left = memoryview(small())      # the filter lives as long as its view
        gc.collect()
        self.assertEqual(bytes(left), bytes(len(left)))

    def test_a_memoryview_of_several_parts_is_a_copy(self):
        f = Filter(1000, 0.01, kind='window', options='slots=4,span=60')
        view = memoryview(f)
        f.add('a')
        self.assertEqual((view.readonly, bytes(view)), (True, bytes(f.info.data_bytes)))
        self.assertNotEqual(f.data, bytes(view))
        f.close()
        self.assertEqual(len(view.tobytes()), view.nbytes)

    def test_a_memoryview_survives_the_truncation_of_its_file(self):
        code = ("import bloomery, os\nf = bloomery.Filter.create('cut-view.blm', 10**6)\nview = memoryview(f)\n"
                "os.truncate('cut-view.blm', 20480)\nprint(len(bytes(view)) == len(view))")
        done = subprocess.run([sys.executable, '-c', code], capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stdout), (0, 'True\n'), done.stderr)

    def test_it_goes_through_text_and_other_programs_files(self):
        f = small(hash='mm3_64')
        f.add('a')
        self.assertEqual(Filter.from_base64(None, f.to_base64()), f)
        self.assertEqual(Filter.from_base64('t.blm', f.to_base64().decode()), f)
        f.export('theirs.bloom', 'pybloomfiltermmap')
        self.assertIn('a', Filter.open_foreign('theirs.bloom', hash='mm3_64'))
        self.assertIn('a', Filter.import_('ours.blm', file='theirs.bloom', hash='mm3_64'))
        self.assertRaises(TypeError, Filter.import_, 'x.blm')

    def test_an_export_writes_over_no_file_unless_told_to(self):
        f = small()
        for name in 'text', 'filter.blm':
            if name == 'filter.blm':
                small(name).close()
            else:
                with open(name, 'w') as file:
                    file.write('precious')
            before = open(name, 'rb').read()
            self.assertRaisesRegex(bloomery.Exists, f'{name}: exists', f.export, name)
            self.assertEqual(open(name, 'rb').read(), before)
            f.export(name, replace=True)
            self.assertEqual(Filter.open(name), f)
        os.symlink('nothing', 'link')
        self.assertRaises(bloomery.Exists, f.export, 'link')
        self.assertRaises(bloomery.NotFound, f.export, 'unmade', 'bogus')
        self.assertFalse(os.path.exists('unmade'))
        self.assertRaises(bloomery.NotFound, f.export, 'nowhere/unmade')

    def test_paths_need_not_be_utf_8(self):
        name = b'\xff.blm'
        f = small(name, hash='mm3_64')
        f.add('a')
        again = os.fsdecode(name)
        self.assertIn('a', Filter.open(name, 'r'))
        self.assertIn('a', Filter.open(again, 'r'))
        self.assertEqual((os.fsencode(os.path.basename(f.info.path)), f.verify()), (name, []))
        with self.assertRaises(bloomery.Exists) as caught:
            small(name)
        self.assertIn('xff.blm', str(caught.exception))
        f.export(b'\xfe.bloom', 'pybloomfiltermmap')
        self.assertEqual(len(Filter.import_(b'\xfd.blm', file=b'\xfe.bloom', hash='mm3_64')), len(Filter.open(b'\xfd.blm', 'r')))
        with bloomery.Store(b's\xff') as store:
            self.assertEqual(list(store), [])
        self.assertRaisesRegex(ValueError, 'null byte', Filter.open, 'a\0b')

    def test_a_filter_whose_header_was_overwritten_is_damaged(self):
        for name, bytes in ('ones.blm', b'\xff' * 20480), ('some.blm', b'\x3b' * 20480):
            f, other = small(name, seeds=[5]), small(seeds=[5])
            with open(name, 'r+b') as file:
                file.write(bytes)
            for call in lambda: f.data, lambda: memoryview(f), lambda: f == other:
                self.assertRaisesRegex(bloomery.Damaged, 'header was overwritten', call)

    def test_a_store_has_filters_by_their_names(self):
        with bloomery.Store('store') as store:
            f = Filter.create('seen', 1000, store=store)
            f.add('a')
            self.assertEqual((list(store), 'seen' in store, 'none' in store), (['seen'], True, False))
            self.assertIn('a', store['seen'])
            self.assertIn('a', pickle.loads(pickle.dumps(f)))
            store.rename('seen', 'old')
            store.label('old', 'why', 'test')
            self.assertEqual(store.find('old')['labels'], 'why=test\n')
            store.publish('new', f)
            self.assertTrue(Filter.open('new', 'r', store=store).info.sealed)
            store.drop('old')
            with self.assertRaises(bloomery.Stale):
                f.add('b')
        self.assertRaises(ValueError, store.find, 'new')


class Handles(unittest.TestCase):
    def test_a_filter_pickles_by_its_path(self):
        f = small('pickled.blm')
        other = pickle.loads(pickle.dumps(f))
        f.add('a')
        self.assertIn('a', other)
        read = pickle.loads(pickle.dumps(Filter.open('pickled.blm', 'r')))
        self.assertRaises(bloomery.ReadOnly, read.add, 'b')
        self.assertRaisesRegex(TypeError, 'in memory', pickle.dumps, small())

    def test_of_all_processes_one_claims_a_key(self):
        keys = [f'key {i}' for i in range(2000)]
        for method in 'fork', 'spawn':
            f = small(f'{method}.blm')
            context = multiprocessing.get_context(method)
            queue = context.Queue()
            processes = [context.Process(target=claim_all, args=(f, keys, queue)) for _ in range(2)]
            for process in processes:
                process.start()
            self.assertEqual(sum(queue.get() for _ in processes), 2000)
            for process in processes:
                process.join()

    def test_one_of_all_threads_claims_and_closing_waits(self):
        f, yes, keys = Filter(100000, 1e-9), [], [str(i) for i in range(50000)]
        threads = [threading.Thread(target=lambda: yes.append(f.claim_many(keys).yes)) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(sum(yes), 50000)
        racing = threading.Thread(target=lambda: self.assertRaises(ValueError, lambda: [f.contains_many(keys) for _ in range(10**6)]))
        racing.start()
        f.close()
        racing.join()
        self.assertTrue(f.closed)

    def test_a_closed_filter_raises_in_every_call(self):
        f = small('closed.blm')
        with f:
            f.add('a')
        f.close()
        for call in (lambda: f.add('a'), lambda: 'a' in f, lambda: len(f), lambda: f.info, f.sync, lambda: f.claim_many(['a']),
                     lambda: f | f, f.copy, f.to_base64, lambda: memoryview(f), lambda: pickle.dumps(f), f.estimate):
            self.assertRaises(bloomery.Closed, call)
        self.assertIn('closed', repr(f))

    def test_each_failure_is_an_exception_of_the_tree(self):
        full = Filter(16, 0.01, kind='cuckoo')
        small('damaged.blm').close()
        with open('damaged.blm', 'r+b') as file:
            file.truncate(5000)
        sealed = small()
        sealed.seal()
        for kind, call in ((bloomery.NotFound, lambda: Filter.open('none.blm')), (bloomery.NotAFilter, lambda: Filter.open(__file__, 'r')),
                           (bloomery.NotAFilter, lambda: Filter.open('damaged.blm')), (bloomery.Full, lambda: full.add_many(range(10000))),
                           (bloomery.ReadOnly, lambda: sealed.add('a')), (bloomery.InvalidParameter, lambda: Filter(10, 2.0)),
                           (bloomery.NotFound, lambda: Filter(10, kind='none'))):
            with self.assertRaises(kind) as caught:
                call()
            self.assertIsInstance(caught.exception, (bloomery.Error, OSError))
            self.assertNotRegex(str(caught.exception), r' --?[a-z]')
        with self.assertRaises(bloomery.Full) as caught:
            Filter(16, 0.01, kind='cuckoo').add_many(range(10000))
        self.assertGreater(sum(map(int.bit_count, caught.exception.answers)), 10)
        for wrong in '10', 1.5, True, -1:
            self.assertRaisesRegex((TypeError, ValueError), '^capacity is a whole number', Filter, wrong)

    def test_every_class_of_the_tree_is_raised(self):
        def not_permitted():
            os.chmod('mine.blm', 0)
            pid = os.fork()     # without root's rights
            if not pid:
                try:
                    if os.geteuid() == 0:
                        os.seteuid(65534)
                except OSError:     # of a user namespace that has no other user
                    os._exit(4)
                try:
                    Filter.open('mine.blm')
                except bloomery.NotPermitted:
                    os._exit(3)
                finally:
                    os._exit(0)
            code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
            if code == 4:
                os.mkdir('anyones', 0o700), os.chmod('anyones', 0o777)
                bloomery.Store('anyones')
            if code == 3:
                raise bloomery.NotPermitted(errno.EACCES, 'in the child')

        for name in 'mine.blm', 'dropped.blm':
            small(name, replace=True)
        dropped = Filter.open('dropped.blm')
        os.remove('dropped.blm')
        removable = Filter(10, kind='removable')
        removable.add('a'), removable.remove('a')
        keyed = small('keyed.blm', secret=b'k' * 16, hash='siphash', replace=True)
        keyed.add('a')
        self.assertIn('a', Filter.open('keyed.blm', secret=b'k' * 16))
        md5 = os.path.join(os.path.dirname(os.path.realpath(__file__)), '../exchange/ax-v0.2.2md5.bloom')
        closed = small()
        closed.close()
        cut = "import bloomery, os\nf = bloomery.Filter.create('cut-2.blm', 10**6)\nos.truncate('cut-2.blm', 20480)\nf.add_many(range(1000))"

        def damaged():
            if b'bloomery._errors.Damaged: ' in subprocess.run([sys.executable, '-c', cut], capture_output=True).stderr:
                raise bloomery.Damaged(errno.EIO, 'in the child')

        calls = {'Ambiguous': lambda: Filter.open_foreign(md5), 'Closed': lambda: closed.add('a'), 'Damaged': damaged,
                 'Exists': lambda: small('mine.blm'), 'Full': lambda: Filter(16, 0.01, kind='cuckoo').add_many(range(10000)),
                 'InvalidParameter': lambda: Filter(10, 2.0), 'KeyMissing': lambda: Filter.open('keyed.blm', secret=b'x' * 16),
                 'KeyRemoved': lambda: removable.add('a'), 'NotAFilter': lambda: Filter.open(__file__, 'r'),
                 'NotFound': lambda: Filter.open('none.blm'), 'NotPermitted': not_permitted,
                 'ReadOnly': lambda: Filter.open('keyed.blm', 'r', secret=b'k' * 16).add('b'), 'Stale': dropped.status,
                 'TemplateMismatch': lambda: small().update(small(seeds=[9])), 'Unsupported': lambda: small().remove('a')}
        tree = {name for name in bloomery.__all__ if isinstance(getattr(bloomery, name), type)
                and issubclass(getattr(bloomery, name), bloomery.Error)}
        self.assertEqual(tree, {*calls, 'Error'})
        for name, call in calls.items():
            with self.assertRaises(bloomery.Error) as caught:
                call()
            self.assertIs(type(caught.exception), getattr(bloomery, name))
            self.assertTrue(caught.exception.errno or name == 'Closed', name)

    def test_one_of_several_filters_of_a_file_is_named(self):
        data = b'#FPS1\n#num_bits=8\nff\ta\n0f\tb\n'
        self.assertEqual(Filter.import_(None, data=data, format='fps', record='b').data[0], 0x0f)
        self.assertRaises(bloomery.InvalidParameter, Filter.import_, None, data=data, format='fps')
        with open('two.fps', 'wb') as file:
            file.write(data)
        self.assertEqual(Filter.open_foreign('two.fps', format='fps', record='a').data[0], 0xff)

    def test_a_file_truncated_while_open_raises_damaged(self):
        code = ("import bloomery, os\nf = bloomery.Filter.create('cut.blm', 10**6)\nos.truncate('cut.blm', 20480)\n"
                "print('any' in f)\ntry:\n    f.add_many(range(1000))\nexcept bloomery.Damaged as error:\n    print(error)")
        done = subprocess.run([sys.executable, '-c', code], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stdout, r'^True\ncut\.blm: ')

    def test_opening_and_failing_a_thousand_times_keeps_nothing(self):
        small('often.blm').close()
        big = object()

        def work():
            with Filter.open('often.blm') as f:
                f.add_many(['a', 1, bytearray(b'b')])
                for wrong in 'add', 'add_many':
                    try:
                        getattr(f, wrong)(['x', big] if wrong == 'add_many' else big)
                    except TypeError:
                        pass
                try:
                    Filter.create('often.blm', 10)
                except bloomery.Exists:
                    pass
                f.info, f.data, f.template(), memoryview(f)[:1]

        for _ in range(50):
            work()
        gc.collect()
        files, references = len(os.listdir('/proc/self/fd')), sys.getrefcount(big)
        tracemalloc.start()
        first = tracemalloc.get_traced_memory()[0]
        for _ in range(300):
            work()
        gc.collect()
        grown = tracemalloc.get_traced_memory()[0] - first
        tracemalloc.stop()
        self.assertLess(grown, 20000)
        self.assertEqual((len(os.listdir('/proc/self/fd')), sys.getrefcount(big)), (files, references))
