"""redis.py - the module of Redis beside RedisBloom, and beside bits that crawlers set themselves

usage: redis.py MODULE PROGRAM REDISBLOOM [--server SERVER] [--keys N] [--rounds N] [--all-keys N] [--part speed|memory]

REDISBLOOM is its module, built from its public source. SERVER is a server that both load in. All servers run at the same
time, and each round asks all of them, one after the other. A figure is the processor time of the server for a key, in us,
the median of the rounds. Commands come in pipelines of 100. Keys have 28 bytes. `bits` are filters as crawlers have them
without a module: six SETBIT or GETBIT for a key. MB is what the server and its filters grow by, and MEMORY USAGE what the
server reports, with --all-keys keys at 0.001 in a filter that begins at 100 keys and grows by the defaults, and in one that
was reserved for all keys. The rows `its grown` compare RedisBloom's grown filter with ours that was reserved.
"""
import argparse
import os
import statistics
import sys

PIPELINE, EACH, BITS = 100, 100, 6


def key(group, i):
    return b'https://example.org/%03d/%04x' % (group, i) if i < 65536 else b'https://x.org/%03d/%010d' % (group, i)


def command(*words):
    return b'*%d\r\n' % len(words) + b''.join(b'$%d\r\n%s\r\n' % (len(word), word) for word in words)


def single(name, group, count):
    """(the bytes of a pipeline, the length of its replies) for all keys"""
    return [(b''.join(command(name, b'f', key(group, i)) for i in range(at, at + PIPELINE)), 4 * PIPELINE)
            for at in range(0, count, PIPELINE)]


def many(name, group, count):
    return [(b''.join(command(name, b'f', *(key(group, i) for i in range(one, one + EACH))) for one in range(at, at + 10 * EACH, EACH)),
             10 * (len(b'*%d\r\n' % EACH) + 4 * EACH)) for at in range(0, count, 10 * EACH)]


def bits(name, value, group, count):
    """Positions of a string of 18 MB, which a client has of its own hash functions."""
    def places(i):
        return ((hash((group, i, j)) % 144_000_000) for j in range(BITS))
    return [(b''.join(command(name, b's', b'%d' % place, *value) for i in range(at, at + PIPELINE) for place in places(i)),
             4 * PIPELINE * BITS) for at in range(0, count, PIPELINE)]


def cpu(server):
    """Nanoseconds of all threads."""
    total = 0
    for task in os.listdir(f'/proc/{server.process.pid}/task'):
        with open(f'/proc/{server.process.pid}/task/{task}/schedstat', encoding='ascii') as stat:
            total += int(stat.read().split()[0])
    return total


def memory(server):
    """MB of the server itself, and of its filters: a filter that is mapped twice counts once."""
    with open(f'/proc/{server.process.pid}/status', encoding='ascii') as status:
        own = next(int(line.split()[1]) for line in status if line.startswith('RssAnon')) * 1024
    files, folder = {}, f'/proc/{server.process.pid}/fd'
    for fd in os.listdir(folder):
        if 'memfd:bloomery' in os.readlink(f'{folder}/{fd}') or '/store/' in os.readlink(f'{folder}/{fd}'):
            stat = os.stat(f'{folder}/{fd}')
            files[stat.st_dev, stat.st_ino] = stat.st_blocks * 512
    return (own + sum(files.values())) / 1e6


def spend(server, ask, pipelines, count):
    begun = cpu(server)
    for bytes_, length in pipelines:
        ask.socket.sendall(bytes_)
        ask.file.read(length)
    return (cpu(server) - begun) / 1000 / count


def measure_speed(args, all_servers, figures):
    try:
        asks = {name: server.client() for name, server in all_servers.items()}
        for ask in asks.values():
            assert ask('BF.RESERVE', 'f', '0.001', args.all_keys) == 'OK'
            ask('SETBIT', 's', 144_000_000, 0)
        for group in range(args.rounds):
            for what, pipelines in (('BF.ADD', single(b'BF.ADD', group, args.keys)), ('BF.EXISTS', single(b'BF.EXISTS', group, args.keys)),
                                    ('BF.MADD, 100 keys', many(b'BF.MADD', 500 + group, args.keys)),
                                    ('BF.MEXISTS, 100 keys', many(b'BF.MEXISTS', 500 + group, args.keys)),
                                    ('add by bits', bits(b'SETBIT', (b'1',), group, args.keys // 4)),
                                    ('ask by bits', bits(b'GETBIT', (), group, args.keys // 4))):
                count = args.keys // 4 if 'bits' in what else args.keys
                for name, server in all_servers.items():
                    if 'bits' not in what or name == 'RedisBloom':
                        figures.setdefault((what, name), []).append(spend(server, asks[name], pipelines, count))
    finally:
        for server in all_servers.values():
            server.close()


def measure_memory(args, kinds, start, figures):
    for what, capacity in (('grown from 100', 100), ('reserved', args.all_keys)):
        for name, module, more in kinds:
            with start(module, **more) as server, server.client() as ask:
                ask('PING')
                before = memory(server)
                assert ask('BF.RESERVE', 'f', '0.001', capacity) == 'OK'
                for group in range(args.all_keys // args.keys):
                    spend(server, ask, many(b'BF.MADD', group, args.keys), args.keys)
                figures[f'MB, {what}', name] = [memory(server) - before]
                figures[f'MEMORY USAGE, {what}', name] = [ask('MEMORY', 'USAGE', 'f') / 1e6]
    for row in ('MB', 'MEMORY USAGE'):
        for name, *_ in kinds:
            asked = 'grown from 100' if name == 'RedisBloom' else 'reserved'
            figures[f'{row}, its grown', name] = figures[f'{row}, {asked}', name]


def main():
    parser = argparse.ArgumentParser()
    for name in ('module', 'program', 'redisbloom'):
        parser.add_argument(name)
    parser.add_argument('--server')
    parser.add_argument('--keys', type=int, default=100_000)
    parser.add_argument('--rounds', type=int, default=7)
    parser.add_argument('--all-keys', type=int, default=10_000_000)
    parser.add_argument('--part', choices=('speed', 'memory'))
    args = parser.parse_args()
    os.environ['BLOOMERY_REDIS_MODULE'] = os.path.realpath(args.module)
    os.environ['BLOOMERY_PROGRAM'] = os.path.realpath(args.program)
    if args.server:
        os.environ['BLOOMERY_REDIS_SERVER'] = args.server
    sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), 'redis'))
    import server as servers

    def start(module, **more):
        servers.MODULE = module
        return servers.Server(**more)
    kinds = (('bloomery', os.path.realpath(args.module), {'arguments': []}), ('bloomery, a file', os.path.realpath(args.module), {}),
             ('RedisBloom', os.path.realpath(args.redisbloom), {'arguments': []}))
    names = [name for name, *_ in kinds]
    figures = {}
    if args.part != 'memory':
        measure_speed(args, {name: start(module, **more) for name, module, more in kinds}, figures)
    if args.part != 'speed':
        measure_memory(args, kinds, start, figures)
    print(f'{args.keys} keys a round, {args.rounds} rounds, load {os.getloadavg()[0]:.1f}')
    print(f'{"":28}' + ''.join(f'{name:>18}' for name in names) + f'{"RedisBloom / ours":>20}')
    for what in dict.fromkeys(what for what, _ in figures):
        here = {name: statistics.median(figures[what, name]) if (what, name) in figures else 0 for name in names}
        times = f'{here["RedisBloom"] / here["bloomery"]:20.2f}' if here['bloomery'] else ''
        print(f'{what:28}' + ''.join(f'{here[name]:18.2f}' if here[name] else f'{"":18}' for name in names) + times)
    return 0


if __name__ == '__main__':
    sys.exit(main())
