"""python.py - nanoseconds a key of the package of Python, beside a set, and beside the C library under it

usage: PYTHONPATH=FOLDER-OF-THE-PACKAGE python3 python.py [KEYS]

Medians of five rounds of processor time; two threads by the clock.
"""
import statistics
import sys
import threading
import time

import bloomery

COUNT = int(sys.argv[1]) if len(sys.argv) > 1 else 1000000
TIMES = 20  # so that starting a thread counts for little
KEYS = [f'https://example.org/path/{i:09d}' for i in range(COUNT)]
FIXED = memoryview(b''.join((i * 0x9E3779B97F4A7C15 % 2**128).to_bytes(16, 'little') for i in range(1, COUNT + 1))).cast('B', (COUNT, 16))


def each(call):
    for key in KEYS:
        call(key)


def asked(container):
    for key in KEYS:
        key in container


def new():
    return bloomery.Filter(COUNT, 0.001)


def median(prepare, work, clock=time.process_time):
    times = []
    for _ in range(5):
        made = prepare()
        begun = clock()
        work(made)
        times.append(clock() - begun)
    return statistics.median(times) * 1e9 / COUNT


def row(name, value, base=None):
    print(f'{name:44} {value:7.1f}' + (f'   {value / base:.2f} of it' if base else ''))
    return value


def ask(f, keys):
    for _ in range(TIMES):
        f.contains_many(keys)


def two_threads(f):
    half = COUNT // 2
    threads = [threading.Thread(target=ask, args=(f, part)) for part in (FIXED[:half], FIXED[half:])]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


full, known = new(), set(KEYS)
full.add_many(KEYS)
fixed = new()
fixed.add_many(FIXED)
set_add = row('set: add', median(set, lambda made: each(made.add)))
set_in = row('set: in', median(lambda: known, asked))
row('Filter: in', median(lambda: full, asked), set_in)
row('Filter: add', median(new, lambda made: each(made.add)), set_add)
row('Filter: claim', median(new, lambda made: each(made.claim)), set_add)
row('Filter: add_many, a list of str', median(new, lambda made: made.add_many(KEYS)))
row('Filter: contains_many, a list of str', median(lambda: full, lambda made: made.contains_many(KEYS)))
row('Filter: add_many, an array of 16 bytes', median(new, lambda made: made.add_many(FIXED)))
lone = row('Filter: contains_many, an array, the clock', median(lambda: fixed, lambda made: ask(made, FIXED), time.perf_counter) / TIMES)
row('the same, two threads', median(lambda: fixed, two_threads, time.perf_counter) / TIMES, lone)
