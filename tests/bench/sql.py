"""sql.py - queries with and without a filter: a join in which 1 % of the rows match, and the cost of a call

usage: sql.py EXTENSION-OF-SQLITE [--postgresql SOURCE BUILD] [ROWS]

EXTENSION-OF-SQLITE is BUILD/tools/sqlite/bloomery_sqlite.so. The program must be BUILD/tools/bloomery in the $PATH. The figures
are medians of five rounds of processor time. PostgreSQL's is the time of its backend. All pages are in the cache.
"""
import os
import random
import re
import sqlite3
import statistics
import sys
import tempfile
import time

ROUNDS = 5
URL = 'https://example.org/path/{:012d}'


def keys(rows):
    """(the keys of a, the keys of b): 1 % of a is in b, and both are in random order. Absent keys are between the others."""
    chosen = random.Random(1)
    b = [URL.format(2 * i) for i in range(rows)]
    a = [URL.format(2 * i + (i % 100 != 0)) for i in range(rows)]
    chosen.shuffle(a)
    chosen.shuffle(b)
    return a, b


def report(what, seconds, rows, base=None):
    each = f'{(seconds - base) * 1e9 / rows:8.1f} ns a row' if base is not None else ''
    print(f'{what:52} {seconds:8.3f} s {each}')
    return seconds


def compare(name, median, rows, tests):
    """The queries that both databases run. `tests` puts a test of the filter b into a query."""
    print(f'{name}, {rows} rows')
    scan = report('count the rows, reading the key', median('SELECT count(*) FROM a WHERE length(x) > 0'), rows)
    report('the same with a test, 1 % pass', median(f"SELECT count(*) FROM a WHERE length(x) > 0 AND {tests}"), rows, scan)
    report('claims, all new', median("SELECT count(*) FROM a WHERE length(x) > 0 AND bloomery_claim('fresh', x)", fresh=True), rows, scan)
    report('claims, none new', median("SELECT count(*) FROM a WHERE length(x) > 0 AND bloomery_claim('fresh', x)"), rows, scan)
    report('build a filter', median("SELECT bloomery_build('built', x, 0.01) FROM b", built=True), rows)
    plain = report('join by the text', median('SELECT count(y) FROM a CROSS JOIN b WHERE a.x = b.x'), rows)
    filtered = report('the same with a test first', median(f'SELECT count(y) FROM a CROSS JOIN b WHERE a.x = b.x AND {tests}'), rows)
    print(f'{"the join is faster by":52} {plain / filtered:8.2f} times')


def rounds(ask, bloomery, clock):
    def median(sql, fresh=False, built=False):
        times = []
        for _ in range(ROUNDS):
            if fresh:
                bloomery('clear fresh')
            if built:
                bloomery('drop built')
            begun = clock()
            ask(sql)
            times.append(clock() - begun)
        return statistics.median(times)
    return median


def of_sqlite(extension, rows):
    with tempfile.TemporaryDirectory() as folder:
        os.environ['BLOOMERY_STORE'] = f'{folder}/store'
        db = sqlite3.connect(f'{folder}/database', isolation_level=None)
        db.enable_load_extension(True)
        db.load_extension(os.path.abspath(extension).removesuffix('.so'))
        db.execute('PRAGMA cache_size = -1000000')
        db.execute('CREATE TABLE a(x TEXT)')
        db.execute('CREATE TABLE b(x TEXT PRIMARY KEY, y INTEGER)')
        a, b = keys(rows)
        db.execute('BEGIN')
        db.executemany('INSERT INTO a VALUES (?)', [(x,) for x in a])
        db.executemany('INSERT INTO b VALUES (?, 1)', [(x,) for x in b])
        db.execute('COMMIT')
        db.execute("SELECT bloomery_build('b', x, 0.01), bloomery_build('built', x, 0.01) FROM b").fetchone()
        os.system(f'bloomery create fresh -n {rows} -p 0.001')
        compare(f'SQLite {sqlite3.sqlite_version}', rounds(lambda sql: db.execute(sql).fetchone(), lambda words: os.system(f'bloomery {words}'),
                                                               time.process_time), rows, "bloomery_test('b', a.x)")
        single = time.process_time()
        for x in a[:10000]:
            db.execute("SELECT bloomery_test('b', ?)", (x,)).fetchone()
        tested = time.process_time() - single
        single = time.process_time()
        for x in a[:10000]:
            db.execute('SELECT length(?)', (x,)).fetchone()
        print(f'{"a statement from Python that tests one key":52} {(tested) * 1e2:8.2f} us, of length(): '
              f'{(time.process_time() - single) * 1e2:.2f} us')


def of_postgresql(source, build, rows):
    sys.path.insert(0, os.path.join(source, 'tests/postgresql'))
    from cluster import Cluster, Session
    with Cluster(source, build, os.path.join(build, 'tools/bloomery')) as cluster:
        ask = Session(cluster)
        for sql in ('CREATE EXTENSION bloomery', "SET work_mem = '256MB'", 'SET max_parallel_workers_per_gather = 0',
                    'CREATE UNLOGGED TABLE a(x text)', 'CREATE UNLOGGED TABLE b(x text PRIMARY KEY, y int)'):
            ask(sql)
        number = "lpad(({})::text, 12, '0')"
        ask("INSERT INTO a SELECT 'https://example.org/path/' || " + number.format('2 * i + (i % 100 <> 0)::int')
            + f' FROM generate_series(0, {rows - 1}) i ORDER BY random()')
        ask("INSERT INTO b SELECT 'https://example.org/path/' || " + number.format('2 * i') + f', 1 FROM generate_series(0, {rows - 1}) i ORDER BY random()')
        ask('VACUUM ANALYZE')
        ask("SELECT bloomery_build('b', x, 0.01), bloomery_build('built', x, 0.01) FROM b")
        cluster.bloomery('create', 'fresh', '-n', str(rows), '-p', '0.001')
        pid = ask('SELECT pg_backend_pid()')

        def clock():
            with open(f'/proc/{pid}/stat', encoding='utf-8') as stat:
                words = stat.read().rpartition(')')[2].split()
            return (int(words[11]) + int(words[12])) / os.sysconf('SC_CLK_TCK')
        version = re.search(r'[0-9.]+', ask('SHOW server_version'))[0]
        compare(f'PostgreSQL {version}, hash join', rounds(ask, lambda words: cluster.bloomery(*words.split()), clock), rows, "bloomery_test('b', a.x)")
        ask.close()


def main():
    words = sys.argv[1:]
    postgresql = None
    if '--postgresql' in words:
        at = words.index('--postgresql')
        postgresql = words[at + 1:at + 3]
        del words[at:at + 3]
    if not 1 <= len(words) <= 2:
        sys.exit(__doc__)
    rows = int(words[1]) if len(words) > 1 else 1000000
    of_sqlite(words[0], rows)
    if postgresql:
        of_postgresql(*map(os.path.abspath, postgresql), rows)


if __name__ == '__main__':
    main()
