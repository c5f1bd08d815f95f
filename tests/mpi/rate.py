"""rate.py - how much faster ranks of bloomery-mpi build a filter than one process

usage: rate.py BUILD [--keys N] [--ranks N] [--rounds N]

BUILD is a build with -Dmpi=enabled. The table has the medians of all rounds: seconds by the clock, and seconds of the processor of
the busiest rank, each with the ratio to one process (`bloomery build -j1`). The clock needs a core for each rank and a quiet
machine. The seconds of the processor do not have the waiting for other ranks in them (rest.c). The memory is that of the largest rank
but rank 0, which also maps the new file. The data are compared. The keys, 9 bytes each with their newlines, and the filters are in
memory (/dev/shm).
"""
import argparse
import os
import re
import resource
import shutil
import statistics
import struct
import subprocess
import sys
import tempfile
import time

parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
parser.add_argument('build')
parser.add_argument('--keys', type=int, default=100_000_000)
parser.add_argument('--ranks', type=int, default=2)
parser.add_argument('--rounds', type=int, default=3)
ARGS = parser.parse_args()
MPI, PROGRAM, REST = (os.path.join(os.path.abspath(ARGS.build), name)
                      for name in ('tools/mpi/bloomery-mpi', 'tools/bloomery', 'tests/mpi/librest.so'))
os.environ['BLOOMERY_MPI'], os.environ['BLOOMERY_PROGRAM'] = MPI, PROGRAM
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from job import SETTINGS, launcher  # noqa: E402

WORDS = ['-n', str(ARGS.keys), '-p', '0.001', '--seed', '42', '--force']


def run(folder, *words):
    begun = time.monotonic()
    done = subprocess.run(words, cwd=folder, env={**os.environ, **SETTINGS, 'TMPDIR': folder}, check=True, capture_output=True, text=True)
    return time.monotonic() - begun, done


def same_data(*names):
    with open(names[0], 'rb') as a, open(names[1], 'rb') as b:
        a.seek(8192)        # format-spec.md: the first entry of the part table
        at, left = struct.unpack('<QQ', a.read(16))
        a.seek(at)
        b.seek(at)
        while left:
            piece = a.read(min(left, 1 << 20))
            if piece != b.read(len(piece)):
                return False
            left -= len(piece)
    return True


def one(folder):
    """Seconds by the clock, and of the processor."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    clock, _ = run(folder, PROGRAM, 'build', './one', *WORDS, '-j1', 'keys')
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return clock, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, 0, after.ru_maxrss / 1024


def many(folder, way):
    build = [MPI, 'build', './many', *WORDS, '--way', way, 'keys']
    clock, _ = run(folder, *launcher(ARGS.ranks), *build)
    _, done = run(folder, *launcher(ARGS.ranks), 'env', 'LD_PRELOAD=' + REST, *build)
    busy = [float(seconds) for seconds in re.findall(r'^processor of rank \d+: ([\d.]+) s$', done.stderr, re.M)]
    if len(busy) != ARGS.ranks:
        sys.exit(f'{ARGS.ranks} ranks ran, and {len(busy)} printed their seconds:\n{done.stderr}')
    if not same_data(os.path.join(folder, 'one'), os.path.join(folder, 'many')):
        sys.exit(f'{way}: the data are not those of one process')
    sent, others, unit = re.search(r'([\d.]+) bytes a key; memory .* at most ([\d.]+) (MiB|GiB) of the others', done.stdout).groups()
    return clock, max(busy), float(sent), float(others) * (1024 if unit == 'GiB' else 1)


def main():
    folder = tempfile.mkdtemp(prefix='bm', dir='/dev/shm' if os.access('/dev/shm', os.W_OK) else None)
    taken = {'one process': [], 'reduce': [], 'owners': []}
    try:
        with open(os.path.join(folder, 'keys'), 'wb') as file:
            subprocess.run(['seq', str(ARGS.keys)], stdout=file, check=True)
        for _ in range(ARGS.rounds):
            taken['one process'].append(one(folder))
            for way in 'reduce', 'owners':
                taken[way].append(many(folder, way))
    finally:
        shutil.rmtree(folder)
    print(f'{ARGS.keys} keys, {ARGS.ranks} ranks, medians of {ARGS.rounds} rounds, load {os.getloadavg()[0]:.1f} on {os.cpu_count()} processors')
    print(f'{"":12} {"clock s":>8} {"ratio":>6} {"busiest processor s":>20} {"ratio":>6} {"bytes sent a key":>17} {"memory MiB":>11}')
    first = [statistics.median(column) for column in zip(*taken['one process'])]
    for way, rounds in taken.items():
        clock, busy, sent, memory = (statistics.median(column) for column in zip(*rounds))
        print(f'{way:12} {clock:8.2f} {first[0] / clock:6.2f} {busy:20.2f} {first[1] / busy:6.2f} {sent:17.2f} {memory:11.0f}')


main()
