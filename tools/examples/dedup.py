#!/usr/bin/python3
"""dedup.py - the lines of a file that were not there before, found by a pool of processes

usage: dedup.py FILTER FILE [PROCESSES]

Each process claims the lines of its pieces of the file, so of equal lines one is printed, also if another dedup.py works on
the same FILTER at the same time. The filter keeps the lines for the next run.
"""
import multiprocessing
import os
import sys

import bloomery

PIECE = 1 << 20  # bytes


def pieces(path):
    """Where each piece of whole lines begins and ends."""
    with open(path, 'rb') as file:
        begin, size = 0, os.path.getsize(path)
        while begin < size:
            file.seek(min(begin + PIECE, size) - 1)
            file.readline()
            yield path, begin, file.tell()
            begin = file.tell()


def start(seen):
    global filter
    filter = seen  # it came by its path: each process has its own handle of one file


def new_lines(piece):
    path, begin, end = piece
    with open(path, 'rb') as file:
        file.seek(begin)
        lines = file.read(end - begin).splitlines()
    return list(filter.claim_many(lines).select(lines))


def main():
    where, path = sys.argv[1:3]
    processes = int(sys.argv[3]) if len(sys.argv) > 3 else None
    with bloomery.Filter.open_or_create(where, 10_000_000, 1e-6) as seen:
        with multiprocessing.get_context('spawn').Pool(processes, start, (seen,)) as pool:
            for lines in pool.imap(new_lines, pieces(path)):
                sys.stdout.buffer.writelines(line + b'\n' for line in lines)
        seen.sync()


if __name__ == '__main__':
    main()
