#!/usr/bin/env python3
"""start.py - the size of the library and the time that a program takes to start, of two or more builds

usage: tests/bench/start.py [--rounds N] BUILD OTHER...

Build each as README.md says (a release). The first column is the library's text in bytes, by size(1).
The other two are times of processes, from their start to their end: of `bloomery test FILTER FILE`
with one key, and of a program that links the library and calls one function. Each round starts both
with each build. The table has the medians.
"""
import argparse
import os
import statistics
import subprocess
import tempfile
import time

USER = 'const char *blm_version(void); int main(void) { return !blm_version(); }\n'
QUIET = [(os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)]


def text_bytes(library):
    out = subprocess.run(['size', library], check=True, capture_output=True, text=True).stdout
    return int(out.splitlines()[1].split()[0])


def programs(build, folder):
    """The two programs of a build, as lists of arguments."""
    own = tempfile.mkdtemp(dir=folder)
    tool, keys, filter = os.path.join(build, 'tools/bloomery'), own + '/keys', own + '/filter.blm'
    with open(keys, 'w') as to:
        to.write('key\n')
    for what in [['create', filter, '-n', '1000', '-p', '0.001'], ['add', filter, keys]]:
        subprocess.run([tool, *what], check=True, stdout=subprocess.DEVNULL)
    lib = os.path.abspath(os.path.join(build, 'lib'))
    subprocess.run(['cc', '-O2', '-xc', '-', '-xnone', '-o', own + '/user', lib + '/libbloomery.so', '-Wl,-rpath,' + lib],
                   input=USER, check=True, text=True)
    return [tool, 'test', filter, keys], [own + '/user']


def milliseconds(argv):
    begin = time.perf_counter()
    pid = os.posix_spawn(argv[0], argv, os.environ, file_actions=QUIET)
    status = os.waitpid(pid, 0)[1]
    took = time.perf_counter() - begin
    if status:
        raise SystemExit(f'{" ".join(argv)}: ended with {status}')
    return took * 1e3


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('--rounds', type=int, default=2000)
    parser.add_argument('builds', nargs='+', metavar='BUILD')
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        ways = list(zip(*(programs(build, folder) for build in args.builds)))
        times = [[[] for _ in args.builds] for _ in ways]
        for n in range(args.rounds):
            for way, took in zip(ways, times):
                for i in range(len(way)):
                    at = (i + n) % len(way)         # none is always first
                    took[at].append(milliseconds(way[at]))
    print('| build | text, bytes | one question, ms | a user of the library, ms |\n|---|--:|--:|--:|')
    for i, build in enumerate(args.builds):
        text = text_bytes(os.path.join(build, 'lib/libbloomery.so'))
        print(f'| {build} | {text:,} | ' + ' | '.join(f'{statistics.median(t[i]):.3f}' for t in times) + ' |')


if __name__ == '__main__':
    main()
