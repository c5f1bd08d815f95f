#!/usr/bin/env python3
"""cluster.py - how long N machines take to build a filter, by a model

usage: cluster.py [--keys N] [--size BYTES-A-KEY] [--ranks A-MACHINE] [--network BYTES-A-SECOND]
                  [--storage BYTES-A-SECOND] [--disk BYTES-A-SECOND]

The rate of a rank and the bytes that are sent are measured; all else follows from them (bloomery-cluster(7)).
"""
import argparse
import math

# Measured: keys in a second of a rank's processor, with lines of about 9 bytes that are in memory.
ONE_PROCESS = 40e6
REDUCE = 37e6
OWNERS = 29e6
HASH = 16           # bytes
LINE = 10           # bytes
FIXED = 200 << 20   # of memory: program, buffers


def cost(machines, a):
    """Seconds, bytes sent by all, and memory of a machine, for each way."""
    m, ranks = a.keys * a.size, machines * a.ranks
    read, write = LINE * a.keys / machines / a.storage, m / a.disk
    steps = math.ceil(math.log2(machines))      # of the tree in which the filters of all machines are united
    yield 'reduce', (max(a.keys / ranks / REDUCE, read) + steps * m / a.network + write, m * (ranks - 1), a.ranks * (m + FIXED))
    # of the hashes of a machine the share that belongs to another one
    away = HASH * a.keys / machines * (machines - 1) / machines
    to_first = m * (machines - 1) / machines / a.network
    yield 'owners', (max(a.keys / ranks / OWNERS, read, away / a.network) + to_first + write,
                     (HASH * a.keys + m) * (ranks - 1) / ranks, m / machines + a.ranks * FIXED)
    # each machine reads all keys and keeps those of its part; the parts stay where they are
    yield 'partition', (max(a.keys / min(a.ranks, 8) / ONE_PROCESS, read * machines) + write / machines, 0, m / machines + FIXED)


def show_bytes(n):
    n /= 1 << 20
    for unit in 'MiB', 'GiB', 'TiB', 'PiB':
        if n < 1000:
            break
        n /= 1024
    return f'{n:.3g} {unit}'


def show_time(s):
    return f'{s:.0f} s' if s < 100 else f'{s / 60:.0f} min' if s < 6000 else f'{s / 3600:.1f} h'


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('--keys', type=float, default=1e11)
    parser.add_argument('--size', type=float, default=2, help='bytes of data a key')
    parser.add_argument('--ranks', type=int, default=16, help='of a machine')
    parser.add_argument('--network', type=float, default=1.25e9, help='bytes a second of a machine')
    parser.add_argument('--storage', type=float, default=1e9, help='bytes a second that a machine reads keys with')
    parser.add_argument('--disk', type=float, default=1e9, help='bytes a second of the disk that the filter goes to')
    a = parser.parse_args()
    print('machines  way        time     sent       memory')
    for machines in 1, 4, 16, 64, 256, 1000:
        for way, (seconds, sent, memory) in cost(machines, a):
            print(f'{machines:8}  {way:9}  {show_time(seconds):7}  {show_bytes(sent):9}  {show_bytes(memory)}')


if __name__ == '__main__':
    main()
