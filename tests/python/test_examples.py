"""test_examples.py - the examples in Python do what they say"""
import os
import pathlib
import subprocess
import sys
import unittest

DEDUP = pathlib.Path(__file__).resolve().parents[2] / 'tools' / 'examples' / 'dedup.py'


class Dedup(unittest.TestCase):
    def run_it(self, lines):
        pathlib.Path('lines').write_text('\n'.join(lines))
        done = subprocess.run([sys.executable, DEDUP, './pool.blm', 'lines', '2'], capture_output=True, text=True, env=os.environ)
        self.assertEqual((done.returncode, done.stderr), (0, ''))
        return done.stdout.split('\n')[:-1]

    def test_a_pool_prints_each_line_of_a_file_once(self):
        lines = [f'line {i * 7919 % 60000} of a file' for i in range(150000)]
        self.assertGreater(sum(map(len, lines)), 2 << 20)
        out = self.run_it(lines)
        self.assertEqual(sorted(out), sorted(set(lines)))
        self.assertEqual(self.run_it(lines[:100] + ['new', 'new']), ['new'])
