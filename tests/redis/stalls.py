"""stalls.py - how long PING waits while the server does something slow with a large filter

usage: stalls.py MODULE PROGRAM [--megabytes N] [--rounds N]

A second client sends PING in a loop while a command runs. The figures are the longest answer of a round and the 99th
percentile of its answers, and the processor time of the server, which depends on the load of the machine the least. The
table has the medians of the rounds. `idle` is one second without such a command: what the machine adds.
The filters are half full of ones, so their data cannot be compressed. `string` is a value of the server
itself of the same size, for comparison. DEBUG RELOAD has one such value at a time.
"""
import argparse
import multiprocessing
import os
import statistics
import sys
import time

KEYS_EACH = 10000


class Pings:
    """The answers while the block runs, in milliseconds: in a process, which copies no large replies."""

    def __init__(self, server):
        self.server, self.begun, self.ended, self.waits = server, multiprocessing.Event(), multiprocessing.Event(), multiprocessing.Queue()

    def loop(self):
        waits = []
        with self.server.client() as ask:
            while not self.ended.is_set():
                begun = time.perf_counter()
                ask('PING')
                waits.append(1000 * (time.perf_counter() - begun))
                self.begun.set()
        waits.sort()
        self.waits.put((waits[-1], waits[len(waits) * 99 // 100]))

    def __enter__(self):
        self.process = multiprocessing.Process(target=self.loop)
        self.process.start()
        self.begun.wait()
        return self

    def __exit__(self, *exception):
        time.sleep(0.05)
        self.ended.set()
        self.longest, self.most = self.waits.get()
        self.process.join()


def fill(ask, name, megabytes):
    """One command each makes them. A few keys of RESERVE, then the data of a filter with random bits, in chunks."""
    from server import Error
    bits = megabytes * 8 * 10**6
    ask('DEL', name)
    if name == 'string':
        return ask('SET', name, os.urandom(megabytes * 10**6))
    capacity = int(bits / 14.4)
    reply = ask('BF.RESERVE', 'like', '0.001', capacity, 'NONSCALING')
    assert not isinstance(reply, Error), reply
    ask('BF.ADD', 'like', 'x')
    at, head = ask('BF.SCANDUMP', 'like', 0)
    ask('DEL', 'like')
    ask('BF.LOADCHUNK', name, at, head)
    link = int.from_bytes(head[20:28], 'little')
    done = 0
    while done < link:
        count = min(16 << 20, link - done)
        done += count
        reply = ask('BF.LOADCHUNK', name, done + 1, os.urandom(count))
        assert reply == 'OK', reply
    return reply


def cpu(server):
    """Milliseconds of all threads, also of those that ended; in steps of 10."""
    with open(f'/proc/{server.process.pid}/stat', encoding='ascii') as stat:
        fields = stat.read().rpartition(')')[2].split()
    return (int(fields[11]) + int(fields[12])) * 1000 / os.sysconf('SC_CLK_TCK')


def background(ask, command, field):
    from server import until
    assert 'ERR' not in str(ask(command))
    until(lambda: field in ask('INFO', 'persistence'), f'{command} ended')


# What is measured, and what is done after that without a look at the clock.
CASES = (
    ('idle', lambda ask: time.sleep(1)),
    ('DUMP', lambda ask: ask('DUMP', 'filter')),
    ('BLM.DUMP', lambda ask: ask('BLM.DUMP', 'filter')),
    ('DUMP of a string', lambda ask: ask('DUMP', 'string')),
    ('BLM.UNION of one', lambda ask: ask('BLM.UNION', 'union', 'filter'), 'DEL union'),
    ('COPY', lambda ask: ask('COPY', 'filter', 'copy')),
    ('BLM.COPY', lambda ask: ask('BLM.COPY', 'filter', 'thread'), 'DEL thread'),
    ('COPY of a string', lambda ask: ask('COPY', 'string', 'text'), 'DEL text'),
    ('RENAME', lambda ask: ask('RENAME', 'copy', 'other')),
    ('BGSAVE', lambda ask: background(ask, 'BGSAVE', b'rdb_bgsave_in_progress:0'), 'DEL string other'),
    ('DEBUG RELOAD', lambda ask: ask('DEBUG', 'RELOAD')),
    ('UNLINK', lambda ask: ask('UNLINK', 'filter')),
    ('RESTORE of a string', lambda ask: ask('RESTORE', 'string', 0, ask.dumps['string'])),
    ('RELOAD of a string', lambda ask: ask('DEBUG', 'RELOAD'), 'DEL string'),
    ('RESTORE', lambda ask: ask('RESTORE', 'filter', 0, ask.dumps['filter'])),
    ('DEL', lambda ask: ask('DEL', 'filter')),
    ('RESTORE again', lambda ask: ask('RESTORE', 'filter', 0, ask.dumps['filter'])),
    ('FLUSHALL', lambda ask: ask('FLUSHALL')),
)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('module')
    parser.add_argument('program')
    parser.add_argument('--megabytes', type=int, default=100)
    parser.add_argument('--rounds', type=int, default=3)
    args = parser.parse_args()
    os.environ['BLOOMERY_REDIS_MODULE'] = os.path.realpath(args.module)
    os.environ['BLOOMERY_PROGRAM'] = os.path.realpath(args.program)
    sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
    from server import Server
    waits = {what: [] for what, *_ in CASES}
    for _ in range(args.rounds):
        with Server() as server, server.client() as ask:
            for name in ('filter', 'string'):
                fill(ask, name, args.megabytes)
            ask.dumps = {name: ask('DUMP', name) for name in ('filter', 'string')}
            for what, run, *after in CASES:
                with Pings(server) as pings:
                    begun = cpu(server)
                    reply = run(ask)
                    spent = cpu(server) - begun
                assert not str(reply).startswith('ERR'), (what, reply)
                waits[what].append((pings.longest, pings.most, spent))
                for words in after:
                    ask(*words.split())
    print(f'{args.megabytes} MB, load {os.getloadavg()[0]:.1f}, {args.rounds} rounds')
    for what, figures in waits.items():
        longest = [figure[0] for figure in figures]
        print(f'{what:20} {statistics.median(longest):8.1f} ms    ({min(longest):.1f} to {max(longest):.1f})'
              f'    99 of 100: {statistics.median(figure[1] for figure in figures):.2f} ms'
              f'    processor: {statistics.median(figure[2] for figure in figures):.0f} ms')
    return 0


if __name__ == '__main__':
    sys.exit(main())
