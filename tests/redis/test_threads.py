"""What threads do while the server goes on: BLM.DUMP, BLM.UNION beside saves, reloads and rewrites, and drops of large filters."""
import os
import unittest

from server import Error, Server, until

FULL = os.environ.get('BLOOMERY_TEST_SCALE', 'full') == 'full'
CAPACITY, SOURCES, KEYS = 8_000_000 if FULL else 1_000_000, 3, 1000


def keys_of(i):
    return [f'{i}-{key}' for key in range(KEYS)]


class Threads(unittest.TestCase):
    def fill(self, ask, capacity=CAPACITY):
        """Sources of 14 or 1.8 MB, so that a union, a dump and a copy of them run in a thread, which takes 1 MB or more."""
        for i in range(SOURCES):
            self.assertEqual(ask('BLM.CREATE', f's{i}', 'CAPACITY', capacity, 'RATE', '0.001', 'SEEDS', 7), 'OK')
            ask('BF.MADD', f's{i}', *keys_of(i))

    def check(self, ask):
        for i in range(SOURCES):
            self.assertEqual(ask('BF.MEXISTS', 'u', *keys_of(i)), [1] * KEYS, i)

    def union(self):
        """The first source comes many times, so that the union takes a while and the keys of the others come late."""
        return ['BLM.UNION', 'u', *['s0'] * (30 if FULL else 240), *(f's{i}' for i in range(SOURCES))]

    def test_a_reload_has_the_whole_union_that_runs(self):
        for more in ([], ['persist', 'files']):
            with Server(more=more) as server, server.client() as ask, server.client() as other:
                self.fill(ask)
                ask.send(*self.union())
                self.assertEqual(other('DEBUG', 'RELOAD'), 'OK')
                self.assertEqual(ask.read(), 'OK')
                self.check(ask)
                self.assertEqual(server.names(), ['redis.0.s0', 'redis.0.s1', 'redis.0.s2', 'redis.0.u'])

    def test_a_server_that_ends_saves_the_whole_union(self):
        for more in ([], ['persist', 'files']):
            with Server(more=more) as server:
                with server.client() as ask, server.client() as other:
                    self.fill(ask)
                    ask.send(*self.union())
                    until(lambda: b'cmd=blm.union' in other('CLIENT', 'LIST'), 'the command was sent')
                    other.send('SHUTDOWN', 'SAVE')
                    server.process.wait()
                server.start()
                with server.client() as ask:
                    self.check(ask)

    def test_a_rewrite_during_a_union_loses_none_of_it(self):
        with Server('--appendonly', 'yes') as server:
            with server.client() as ask, server.client() as other:
                self.fill(ask)
                ask.send(*self.union())
                self.assertNotIsInstance(other('BGREWRITEAOF'), Error)
                self.assertEqual(ask.read(), 'OK')
                until(lambda: b'aof_rewrite_in_progress:0' in other('INFO', 'persistence'), 'the rewrite ended')
            for i in range(SOURCES + 1):    # what local processes would find there
                server.program('drop', f'redis.0.{"u" if i == SOURCES else f"s{i}"}')
            server.restart(kill=True)
            with server.client() as ask:
                self.check(ask)

    def while_a_union_runs(self, server, do):
        """A child begins to save the data, which are small so that it is quick. `do` waits until the union has ended."""
        with server.client() as ask, server.client() as other:
            self.fill(ask, 800_000)
            self.assertEqual(ask('BLM.CREATE', 'u', 'CAPACITY', 800_000, 'RATE', '0.001', 'SEEDS', 7), 'OK')
            ask.send('BLM.UNION', 'u', *['s0'] * 600, 's1', 's2')
            until(lambda: b'cmd=blm.union' in other('CLIENT', 'LIST'), 'the command was sent')
            self.assertNotIsInstance(other('BGREWRITEAOF'), Error)
            runs = other('BLM.TEST', 'u', '2-0') == b'\0'
            do(ask, other)
            until(lambda: b'aof_rewrite_in_progress:0' in other('INFO', 'persistence'), 'the rewrite ended')
            if runs and other('EXISTS', 'u'):
                until(lambda: self.is_replicated(server), 'the union is in the append-only file')

    @staticmethod
    def is_replicated(server):
        with open(f'{server.folder}/appendonlydir/appendonly.aof.2.incr.aof', 'rb') as file:
            commands = file.read()
        return b'BLM.UNION' in commands or b'RESTORE' in commands

    def test_a_rewrite_during_a_union_is_complete_or_absent(self):
        def delete(ask, other):
            self.assertEqual((other('DEL', 'u'), ask.read()), (1, 'OK'))

        def delete_sources(ask, other):
            self.assertEqual((other('DEL', 's1', 's2'), other('PEXPIREAT', 'u', 4102444800000), ask.read()), (2, 1, 'OK'))

        def pause(ask, other):
            self.assertEqual((other('CLIENT', 'PAUSE', 100000, 'WRITE'), ask.read(), other('CLIENT', 'UNPAUSE')), ('OK',) * 3)

        def leave(ask, other):
            ask.close()
            until(lambda: other('BLM.TEST', 'u', '2-0') == b'\1', 'the union ended')
        for do in (delete, delete_sources, pause, leave):
            with self.subTest(do.__name__), Server('--appendonly', 'yes', arguments=[]) as server:
                self.while_a_union_runs(server, do)
                server.restart(kill=True)
                with server.client() as ask:
                    self.assertEqual(ask('EXISTS', 'u'), 0 if do == delete else 1)
                    self.assertEqual(ask('PEXPIRETIME', 'u'), {delete: -2, delete_sources: 4102444800000}.get(do, -1))
                    for i in range(SOURCES if do != delete else 0):
                        self.assertEqual(ask('BF.MEXISTS', 'u', *keys_of(i)), [1] * KEYS, i)

    def test_a_flush_during_a_union_keeps_the_published_filter(self):
        with Server(more=['persist', 'files']) as server, server.client() as ask, server.client() as publish, server.client() as other:
            self.fill(ask)
            ask.send(*self.union())
            until(lambda: b'cmd=blm.union' in other('CLIENT', 'LIST'), 'the first command was sent')
            publish.send('BLM.PUBLISH', 's0', 'published')
            until(lambda: b'cmd=blm.publish' in other('CLIENT', 'LIST'), 'the command was sent')
            self.assertEqual(other('FLUSHALL'), 'OK')
            self.assertEqual((ask.read(), publish.read()), ('OK', 'OK'))
            self.assertEqual(other('DBSIZE'), 0)

            def flushed():
                other('SAVE')    # drops the files of deleted keys
                return server.names() == ['published']
            until(flushed, 'the files are dropped')
            server.restart()
            self.assertEqual(server.names(), ['published'])
            self.assertEqual(server.program('test', 'published', keys=b'0-1\nnone\n').stdout, b'0-1\n')

    def test_a_threads_dump_equals_the_servers(self):
        with Server() as server, server.client() as ask:
            self.fill(ask)
            ask('BF.RESERVE', 'b', '0.001', CAPACITY)
            ask('BF.MADD', 'b', *keys_of(0))
            for name in ('b', 's0'):
                dump = ask('BLM.DUMP', name)
                self.assertEqual(dump[:-10], ask('DUMP', name)[:-10])    # the footer has another version
                self.assertEqual(ask('RESTORE', 'r', 0, dump, 'REPLACE'), 'OK')
                self.assertEqual(ask('BF.MEXISTS', 'r', *keys_of(0), 'none'), [1] * KEYS + [0])
                self.assertEqual(len(set(ask('DEBUG', 'DIGEST-VALUE', 'r', name))), 1)

    def test_a_threads_dump_during_a_save_has_the_data(self):
        with Server(more=['persist', 'files', 'dump-in-thread', 'yes']) as server, server.client() as ask, server.client() as other:
            self.fill(ask)
            ask.send('DUMP', 's0')
            self.assertEqual(other('SAVE'), 'OK')
            self.assertEqual(ask('RESTORE', 'r', 0, ask.read()), 'OK')
            self.assertEqual(ask('BF.MEXISTS', 'r', *keys_of(0)), [1] * KEYS)

    def test_dump_in_thread_replaces_dump(self):
        with Server(more=['dump-in-thread', 'yes']) as server, server.client() as ask, server.client() as other:
            self.fill(ask)
            plain = [ask('EVAL', 'return redis.call("DUMP", KEYS[1])', 1, 's0')]
            ask('MULTI')
            ask('DUMP', 's0')
            plain += ask('EXEC')
            for dump in plain:    # where no client can be blocked
                self.assertEqual(dump[:-10], ask('DUMP', 's0')[:-10])
            self.assertIn(b'cmdstat_blm.dump', ask('INFO', 'commandstats'))
            ask('SET', 's', 'x')
            ask('CF.ADD', 'c', 'x')
            for name in 'sc':
                self.assertEqual(ask('RESTORE', 'r', 0, ask('DUMP', name), 'REPLACE'), 'OK')
                self.assertEqual(len(set(ask('DEBUG', 'DIGEST-VALUE', 'r', name))), 1)
            self.assertIsNone(ask('DUMP', 'none'))
            self.assertIn('wrong number', ask('BLM.DUMP'))
            ask('ACL', 'SETUSER', 'u', 'on', 'nopass', '~*', '+@all', '-dump')
            self.assertEqual(other('AUTH', 'u', 'x'), 'OK')
            for name in ('s', 's0'):
                for command in ('DUMP', 'BLM.DUMP'):
                    self.assertIn('acl verification failed', other(command, name), (command, name))
        with self.assertRaisesRegex(AssertionError, 'neither yes nor no'):
            Server(more=['dump-in-thread', 'x'])

    def test_a_threads_copy_equals_the_servers(self):
        for more in ([], ['arguments', []], ['persist', 'files']):
            known = {'arguments': []} if more[:1] == ['arguments'] else {'more': more}
            with Server(**known) as server, server.client() as ask:
                self.fill(ask)
                ask('BF.RESERVE', 'b', '0.001', CAPACITY)
                ask('BF.MADD', 'b', *keys_of(0))
                for name in ('b', 's0'):
                    ask('PEXPIREAT', name, 1 << 42)
                    self.assertEqual(ask('COPY', name, 'plain', 'REPLACE'), 1)
                    self.assertEqual(ask('BLM.COPY', name, 'r', 'REPLACE'), 1)
                    self.assertEqual(ask('PEXPIRETIME', 'r'), 1 << 42)
                    self.assertEqual(len(set(ask('DEBUG', 'DIGEST-VALUE', 'r', 'plain', name))), 1)
                    self.assertEqual(ask('BLM.COPY', name, 'r'), 0)
                    self.assertEqual(ask('BF.ADD', 'r', 'only here'), 1)
                    self.assertEqual(ask('BF.EXISTS', name, 'only here'), 0)
                self.assertEqual(ask('DEBUG', 'RELOAD'), 'OK')
                self.assertEqual(ask('BF.MEXISTS', 'r', *keys_of(0), 'only here'), [1] * (KEYS + 1))
                if not known.get('arguments', True):
                    continue
                names = [name.removeprefix('redis.0.') for name in server.names()]
                self.assertEqual([name for name in names if name[0] == 'r'],    # as COPY itself leaves them
                                 [name.replace('plain', 'r') for name in names if name.startswith('plain')])

    def test_copy_in_thread_replaces_copy(self):
        with Server(more=['copy-in-thread', 'yes']) as server, server.client() as ask, server.client() as other:
            self.fill(ask)
            self.assertEqual(ask('COPY', 's0', 'r'), 1)
            self.assertIn(b'cmdstat_blm.copy', ask('INFO', 'commandstats'))
            self.assertNotIn(b'cmdstat_copy', ask('INFO', 'commandstats'))
            self.assertEqual(ask('EVAL', 'return redis.call("COPY", KEYS[1], KEYS[2])', 2, 's1', 'e'), 1)
            ask('MULTI')
            ask('COPY', 's2', 'm')
            self.assertEqual(ask('EXEC'), [1])
            ask('SET', 's', 'x')
            for words in (('s', 't'), ('s0', 's0', 'DB', 1), ('s1', 'r', 'DB', 0, 'REPLACE')):
                self.assertEqual(ask('COPY', *words), 1, words)
            self.assertEqual(ask('COPY', 'none', 'n'), 0)
            for words in (('s0', 's0', 'REPLACE'), ('s0', 'r', 'x'), ('s0',)):
                self.assertIsInstance(ask('COPY', *words), Error, words)
            ask('ACL', 'SETUSER', 'u', 'on', 'nopass', '~*', '+@all', '-copy')
            self.assertEqual(other('AUTH', 'u', 'x'), 'OK')
            for command in ('COPY', 'BLM.COPY'):
                self.assertIn('acl verification failed', other(command, 's0', 'n'))
            self.assertEqual(ask('EXISTS', 'n'), 0)

    def test_a_replica_gets_what_a_thread_copied(self):
        with Server('--port', '0', more=['copy-in-thread', 'yes']) as server, Server(more=['copy-in-thread', 'yes']) as replica:
            with server.client() as ask, replica.client() as there:
                there('REPLICAOF', '127.0.0.1', server.listen())
                until(lambda: b'master_link_status:up' in there('INFO', 'replication'), 'the replica is connected')
                self.fill(ask)
                ask('BF.RESERVE', 'fixed', '0.001', CAPACITY, 'NONSCALING')
                ask('BF.MADD', 'fixed', *keys_of(0))
                for name in ('s0', 'fixed'):
                    self.assertEqual(ask('COPY', name, f'r{name}'), 1)
                    self.assertEqual(ask('WAIT', 1, 0), 1)
                    self.assertEqual(there('BF.MEXISTS', f'r{name}', *keys_of(0)), [1] * KEYS)
                    self.assertEqual(there('DEBUG', 'DIGEST-VALUE', f'r{name}'), ask('DEBUG', 'DIGEST-VALUE', f'r{name}'))

    def test_the_append_only_file_has_what_a_thread_copied(self):
        with Server('--appendonly', 'yes', more=['copy-in-thread', 'yes']) as server:
            with server.client() as ask:
                self.fill(ask)
                self.assertEqual(ask('COPY', 's0', 'r'), 1)
            server.restart()
            with server.client() as ask:
                self.assertEqual(ask('BF.MEXISTS', 'r', *keys_of(0)), [1] * KEYS)

    def test_a_copy_whose_client_is_gone_leaves_no_file(self):
        with Server() as server, server.client() as ask:
            self.fill(ask)
            with server.client() as other:
                other.send('BLM.COPY', 's0', 'r')
            until(lambda: b'blocked_clients:0' in ask('INFO', 'clients'), 'the copy ended')
            ask('DEL', 'r')    # the server may have ended the copy before it saw that the client is gone
            until(lambda: 'redis.0.r' not in server.names(), 'the file is gone')

    def test_a_deleted_filter_gives_its_name_away_at_once(self):
        with Server() as server, server.client() as ask:
            self.fill(ask)
            for command in (['DEL', 's0'], ['UNLINK', 's0'], ['FLUSHALL', 'SYNC']):
                self.assertNotIsInstance(ask(*command), Error)
                self.assertEqual(ask('BLM.CREATE', 's0', 'CAPACITY', CAPACITY), 'OK')
                self.assertIn('redis.0.s0', server.names())
                self.assertEqual(ask('BF.MEXISTS', 's0', *keys_of(0)), [0] * KEYS)
