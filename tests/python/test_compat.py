"""test_compat.py - the calls of pybloomfiltermmap3, and where the original loses keys"""
import os
import pickle
import subprocess
import sys
import unittest
import warnings

import pybloomfilter
from pybloomfilter import BloomFilter


class Compat(unittest.TestCase):
    def test_the_tutorial_works_as_it_stands(self):
        fruit = BloomFilter(100000, 0.1, 'fruit.bloom')
        fruit.update(('apple', 'pear', 'orange', 'apple'))
        self.assertEqual((len(fruit), 'mike' in fruit, 'apple' in fruit, fruit.add('pear')), (3, False, True, True))
        people = fruit.copy_template('people.bloom')
        people.update(['Mike', 'Ann'])
        self.assertEqual(len(people), 2)
        both = people.copy('both.bloom')
        both |= fruit
        self.assertTrue('apple' in both and 'Mike' in both)
        text = both.to_base64()
        self.assertIn('Mike', BloomFilter.from_base64('again.bloom', text))
        self.assertEqual(BloomFilter.open('fruit.bloom').capacity, 100000)
        self.assertEqual((pybloomfilter.VERSION, repr(fruit)),
                         ((0, 6, 3), '<BloomFilter capacity: 100000, error: 0.100, num_hashes: %d>' % fruit.num_hashes))
        self.assertTrue(issubclass(pybloomfilter.IndeterminateCountError, ValueError))

    def test_keys_keep_count_and_value_in_another_process(self):
        keys = ['a', b'b', 1, 2.5, ('t', 1, None), None, -1]
        BloomFilter(100, 1e-6, 'shared.bloom').update(keys)
        code = f'import pybloomfilter\nf = pybloomfilter.BloomFilter.open("shared.bloom")\nprint(len(f), all(key in f for key in {keys!r}))'
        for seed in '1', '2':
            out = subprocess.run([sys.executable, '-c', code], env={**os.environ, 'PYTHONHASHSEED': seed}, capture_output=True, text=True)
            self.assertEqual(out.stdout, '7 True\n', out.stderr)
        with self.assertWarnsRegex(RuntimeWarning, 'may differ in another process'):
            BloomFilter.open('shared.bloom').add(object)

    def test_a_nan_key_warns_that_processes_differ(self):
        shared = BloomFilter(100, 1e-6, 'shared.bloom')
        for key in float('nan'), complex(0, float('nan')):
            with self.assertWarnsRegex(RuntimeWarning, 'may differ in another process'):
                shared.add(key)
        shared.add(('t', float('nan')))     # as text, which is the same everywhere
        self.assertIn(('t', float('nan')), shared)

    def test_pickling_keeps_every_key(self):
        f = BloomFilter(1001, 0.013, hash_seeds=[1, 2, 3])
        f.update(map(str, range(900)))
        again = pickle.loads(pickle.dumps(f))
        self.assertEqual((again.data_array, len(again), again.hash_seeds.tolist()), (f.data_array, len(f), [1, 2, 3]))
        self.assertTrue(all(str(i) in again for i in range(900)))
        f = BloomFilter(1000, 0.01, hash_seeds=[1, 2, 3], data_array=bytes([255] * 100))
        self.assertEqual((f.num_bits, f.num_hashes, f.bit_count, 'any' in f), (800, 3, 800, True))

    def test_a_replaced_file_stays_until_the_filter_is_made(self):
        with open('precious.txt', 'w') as file:
            file.write('precious')
        for wrong in (-1, 0.1), (2**60, 0.1), (0, 0.1):
            self.assertRaises(ValueError, BloomFilter, *wrong, 'precious.txt')
            self.assertEqual(open('precious.txt').read(), 'precious')
        f = BloomFilter(10, 0.1, 'precious.txt', 0o640)
        f.add('a')
        self.assertIn('a', BloomFilter.open('precious.txt', 'r'))
        self.assertEqual((os.stat('precious.txt').st_mode & 0o777, f.filename), (0o640, os.path.abspath('precious.txt')))

    def test_what_the_original_refuses_is_refused(self):
        f = BloomFilter(100, 0.1, 'refused.bloom')
        f.add('a')
        read = BloomFilter.open('refused.bloom', 'r')
        for call in (lambda: read.add('a'), read.sync, read.clear_all, lambda: read.update(['b']), lambda: read.union(f)):
            self.assertRaises(ValueError, call)
        for make in (lambda: BloomFilter(100, 1.5), lambda: BloomFilter(100, 0), lambda: BloomFilter(10, 0.1, hash_seeds=[-1]),
                     lambda: BloomFilter(10, 0.1, hash_seeds=['x']), lambda: BloomFilter.open(__file__, 'r')):
            self.assertRaises(ValueError, make)
        self.assertRaises(OSError, BloomFilter, 10, 0.1, '/none/x')
        self.assertRaises(TypeError, f.union, 'x')
        self.assertRaises(NotImplementedError, lambda: BloomFilter(10, 0.1).filename)
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter('always')
            self.assertEqual(f.name, os.fsencode(f.filename))
        self.assertEqual([warning.category for warning in seen], [PendingDeprecationWarning])
        f.close()
        f.close()
        self.assertRaises(ValueError, lambda: 'a' in f)
