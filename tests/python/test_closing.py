"""test_closing.py - filters and stores that are closed while a call uses them"""
import subprocess
import sys
import unittest

import bloomery
from bloomery import Filter


def run(code):
    return subprocess.run([sys.executable, '-c', code], capture_output=True, text=True)


class Closing(unittest.TestCase):
    @unittest.skipUnless(sys.version_info >= (3, 12), 'classes have no __buffer__ before Python 3.12')
    def test_a_key_that_closes_the_filter_raises_closed(self):
        class Key:
            def __init__(self, f):
                self.f = f

            def __buffer__(self, flags):
                self.f.close()
                return memoryview(b'x')

        for call in (lambda f, key: f.add(key), lambda f, key: f.claim(key), lambda f, key: key in f, lambda f, key: f.remove(key),
                     lambda f, key: f.put(key, 1), lambda f, key: f.get(key)):
            f = Filter(1000, 0.01)
            self.assertRaises(bloomery.Closed, call, f, Key(f))

    def test_a_store_closed_in_a_call_stays_until_it_returns(self):
        for call, out in ('len(s.list())', '40'), ('s.find("f1")["name"]', 'f1'):
            done = run(f'''
import bloomery, gc
s = bloomery.Store('closed')
for i in range(40):
    bloomery.Filter.create(f'f{{i}}', 10, store=s, replace=True).close()
gc.callbacks.append(lambda phase, info: s.close())
gc.set_threshold(1)
print({call})
gc.set_threshold(0)
s.close()
try:
    s.list()
except ValueError as error:
    print(error)
''')
            self.assertEqual((done.returncode, done.stdout), (0, f'{out}\nthe store is closed, or is no Store\n'), done.stderr)

    def test_closing_a_store_ends_other_threads_calls_first(self):
        done = run('''
import bloomery, sys, threading
sys.setswitchinterval(1e-5)
for i in range(40):
    s = bloomery.Store('raced')
    def work():
        for j in range(5):
            try:
                bloomery.Filter.create(f'f{i}_{j}', 10, store=s, replace=True).close()
                s.label(f'f{i}_{j}', 'key', 'value')
            except ValueError:
                return
    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    s.close()
    for thread in threads:
        thread.join()
print('done')
''')
        self.assertEqual((done.returncode, done.stdout), (0, 'done\n'), done.stderr)
