"""BLM.COPY while the server goes on: what happens to its keys, its client and its server during the copy."""
import os
import signal
import unittest

from server import Cluster, Error, Server, until

LARGE = 8_000_000    # 14 MB
CAPACITY = LARGE if os.environ.get('BLOOMERY_TEST_SCALE', 'full') == 'full' else 1_000_000    # 1.8 MB: a thread copies 1 MB or more
KEYS = 100
KEY = [f'key {i}' for i in range(KEYS)]


def state(pid):
    with open(f'/proc/{pid}/stat', encoding='ascii') as stat:
        return stat.read().rsplit(')', 1)[1].split()[0]


class Copy(unittest.TestCase):
    def setting(self, *options, more=(), fixed=False, capacity=CAPACITY):
        """A server with a large filter s, a client, and another one."""
        server = Server(*options, more=more)
        self.addCleanup(server.close)
        ask, other = server.client(), server.client()
        self.addCleanup(ask.close)
        self.addCleanup(other.close)
        self.assertEqual(ask('BF.RESERVE', 's', '0.001', capacity, *(['NONSCALING'] if fixed else [])), 'OK')
        ask('BF.MADD', 's', *KEY)
        return server, ask, other

    def during(self, server, ask, other, *words, source='s', more=()):
        """
        The reply to a command that the server runs during the copy. It reads both commands in one step, as both are there
        when it goes on, and ends a copy only after such a step.
        """
        pid = server.process.pid
        os.kill(pid, signal.SIGSTOP)
        try:
            until(lambda: state(pid) == 'T', 'the server has stopped')
            ask.send('BLM.COPY', source, 'd', *more)
            other.send(*words)
        finally:
            os.kill(pid, signal.SIGCONT)
        return other.read()

    def whole(self, ask, name='d'):
        self.assertEqual(ask('BF.MEXISTS', name, *KEY), [1] * KEYS)

    def is_absent(self, server, ask):
        self.assertEqual(ask('EXISTS', 'd'), 0)
        until(lambda: 'redis.0.d' not in server.names(), 'the file of the copy is gone')

    def test_paused_writes_refuse_the_copy(self):
        server, ask, other = self.setting()
        self.assertEqual(self.during(server, ask, other, 'CLIENT', 'PAUSE', 100000, 'WRITE'), 'OK')
        self.assertTrue(ask.read().startswith('TRYAGAIN'))
        self.assertEqual(other('CLIENT', 'UNPAUSE'), 'OK')
        self.is_absent(server, other)

    def test_a_master_that_becomes_a_replica_refuses_the_copy(self):
        server, ask, other = self.setting()
        self.assertEqual(self.during(server, ask, other, 'REPLICAOF', '127.0.0.1', 1), 'OK')
        try:
            self.assertRegex(ask.read(), '^(READONLY|UNBLOCKED)')    # the server may unblock the client itself
        except ConnectionError:
            pass
        until(lambda: 'redis.0.d' not in server.names(), 'the file of the copy is gone')
        self.is_absent(server, other)

    def test_a_source_that_changes_gives_the_earlier_copy(self):
        for words in (['DEL', 's'], ['RENAME', 's', 'elsewhere'], ['PEXPIREAT', 's', 1 << 42], ['SET', 's', 'x']):
            with self.subTest(words[0]):
                server, ask, other = self.setting('--appendonly', 'yes')
                self.assertNotIsInstance(self.during(server, ask, other, *words), Error)
                self.assertEqual(ask.read(), 1)
                for _ in range(2):
                    with server.client() as again:
                        self.whole(again)
                        self.assertEqual(again('PEXPIRETIME', 'd'), -1)
                    server.restart(kill=True)
                server.close()

    def test_a_replica_has_all_that_the_copy_has(self):
        for fixed in (False, True):
            with self.subTest(fixed=fixed):
                server, ask, other = self.setting(fixed=fixed)
                replica = Server()
                self.addCleanup(replica.close)
                with replica.client() as there:
                    there('REPLICAOF', '127.0.0.1', server.listen())
                    until(lambda: b'master_link_status:up' in there('INFO', 'replication'), 'the replica is connected')
                    self.assertEqual(self.during(server, ask, other, 'BF.ADD', 's', 'during'), 1)
                    self.assertEqual((ask.read(), ask('SET', 'later', 'x'), ask('WAIT', 1, 0)), (1, 'OK', 1))
                    self.whole(there)
                    if ask('BF.EXISTS', 'd', 'during') or fixed:
                        self.assertEqual(there('BF.EXISTS', 'd', 'during'), ask('BF.EXISTS', 'd', 'during'))
                replica.close()
                server.close()

    def test_a_wait_after_a_copy_waits_for_the_copy(self):
        server, ask, other = self.setting('--repl-ping-replica-period', '3600')
        replica = Server()
        self.addCleanup(replica.close)
        with replica.client() as there:
            there('REPLICAOF', '127.0.0.1', server.listen())
            until(lambda: b'master_link_status:up' in there('INFO', 'replication'), 'the replica is connected')
        ask('SET', 'before', 'x')

        def acknowledged():
            lines = dict(line.split(':', 1) for line in ask('INFO', 'replication').decode().split() if ':' in line)
            return f'offset={lines["master_repl_offset"]},' in lines['slave0']
        until(acknowledged, 'the replica has all')
        os.kill(replica.process.pid, signal.SIGSTOP)
        try:
            self.assertEqual(ask('WAIT', 1, 50), 1)    # of what was before the copy
            self.assertEqual((ask('BLM.COPY', 's', 'd'), ask('WAIT', 1, 50)), (1, 0))
        finally:
            os.kill(replica.process.pid, signal.SIGCONT)
        self.assertEqual(ask('WAIT', 1, 0), 1)
        with replica.client() as there:
            self.whole(there)

    def test_a_slot_that_leaves_refuses_the_copy(self):
        cluster = Cluster(1)
        self.addCleanup(cluster.close)
        server, = cluster.servers
        with server.client() as ask, server.client() as other:
            ask('BF.RESERVE', '{d}s', '0.001', CAPACITY)
            self.assertEqual(self.during(server, ask, other, 'CLUSTER', 'DELSLOTSRANGE', 0, 16383, source='{d}s'), 'OK')
            self.assertTrue(ask.read().startswith('TRYAGAIN'))
            self.assertEqual(ask('DBSIZE'), 1)

    def test_a_store_that_changes_keeps_the_copy(self):
        for words in (['FLUSHALL'], ['SWAPDB', 0, 1], ['DEBUG', 'RELOAD'], ['SAVE']):
            for more in ([], ['persist', 'files']):
                with self.subTest(words[0], more=more):
                    server, ask, other = self.setting(more=more)
                    self.assertEqual(self.during(server, ask, other, *words), 'OK')
                    self.assertEqual(ask.read(), 1)
                    for _ in range(2):
                        self.whole(ask)
                        self.assertEqual(ask('BF.ADD', 'd', f'later {_}'), 1)
                        self.assertEqual(ask('BF.EXISTS', 's', f'later {_}'), 0)
                        self.assertEqual(ask('DEBUG', 'RELOAD'), 'OK')
                    self.assertEqual(ask('BF.MEXISTS', 'd', 'later 0', 'later 1'), [1, 1])
                    server.close()

    def test_a_destination_made_meanwhile_is_kept_or_replaced(self):
        for replace in ([], ['REPLACE']):
            server, ask, other = self.setting()
            self.assertEqual(self.during(server, ask, other, 'BF.ADD', 'd', 'mine', more=replace), 1)
            self.assertEqual(ask.read(), len(replace))
            self.assertEqual(ask('BF.EXISTS', 'd', 'mine'), 1 - len(replace))
            self.assertEqual(ask('BF.EXISTS', 'd', KEY[0]), len(replace))
            until(lambda: len(server.names()) == 2, 'the other file is gone')
            server.close()

    def test_a_save_during_a_copy_leaves_whole_filters(self):
        for more in ([], ['persist', 'files']):
            server, ask, other = self.setting(more=more)
            self.assertNotIsInstance(self.during(server, ask, other, 'BGSAVE'), Error)
            self.assertEqual(ask.read(), 1)
            until(lambda: b'rdb_bgsave_in_progress:0' in other('INFO', 'persistence'), 'the save ended')
            server.restart(kill=True)
            with server.client() as again:
                self.whole(again, 's')
                if again('EXISTS', 'd'):
                    self.whole(again)
            server.close()

    def test_a_kill_during_a_copy_leaves_the_source(self):
        for more in ([], ['persist', 'files']):
            server, ask, other = self.setting(more=more, capacity=LARGE)    # the kill comes while it is copied
            self.assertEqual(ask('SAVE'), 'OK')
            ask.send('BLM.COPY', 's', 'd')
            until(lambda: b'cmd=blm.copy' in other('CLIENT', 'LIST'), 'the command was read')
            server.restart(kill=True)
            with server.client() as again:
                self.whole(again, 's')
                self.is_absent(server, again)
            server.close()

    def test_a_source_that_migrates_gives_the_earlier_copy(self):
        for more in ([], ['copy-in-thread', 'yes', 'dump-in-thread', 'yes']):
            with self.subTest(more=more), Server() as target, target.client() as there:
                server, ask, other = self.setting('--appendonly', 'yes', more=more)
                self.assertEqual(self.during(server, ask, other, 'MIGRATE', '127.0.0.1', target.listen(), 's', 0, 600000), 'OK')
                self.assertEqual((ask.read(), ask('EXISTS', 's')), (1, 0))
                self.whole(there, 's')
                for _ in range(2):
                    with server.client() as again:
                        self.whole(again)
                        self.assertEqual(again('EXISTS', 's'), 0)
                        self.assertEqual(again('BF.ADD', 'd', f'later {_}'), 1)
                    server.restart(kill=True)
                server.close()

    def test_a_slot_that_migrates_refuses_the_copy(self):
        cluster = Cluster(3)
        self.addCleanup(cluster.close)

        def has_slot(server):
            with server.client() as ask:
                return ask('EXISTS', '{d}s') == 0
        home = [has_slot(server) for server in cluster.servers].index(True)
        server, target, port = cluster.servers[home], cluster.servers[home - 1], cluster.ports[home - 1]
        with server.client() as ask, server.client() as other, target.client() as there:
            slot = ask('CLUSTER', 'KEYSLOT', '{d}s')
            names = [each('CLUSTER', 'MYID') for each in (ask, there)]
            ask('BF.RESERVE', '{d}s', '0.001', CAPACITY)
            ask('BF.MADD', '{d}s', *KEY)
            self.assertEqual(there('CLUSTER', 'SETSLOT', slot, 'IMPORTING', names[0]), 'OK')
            self.assertEqual(ask('CLUSTER', 'SETSLOT', slot, 'MIGRATING', names[1]), 'OK')
            self.assertEqual(self.during(server, ask, other, 'MIGRATE', '127.0.0.1', port, '{d}s', 0, 600000, source='{d}s'), 'OK')
            self.assertTrue(ask.read().startswith('TRYAGAIN'))
            for each in there, ask:
                self.assertEqual(each('CLUSTER', 'SETSLOT', slot, 'NODE', names[1]), 'OK')
            self.whole(there, '{d}s')
            self.assertEqual((ask('DBSIZE'), there('DBSIZE'), there('BLM.COPY', '{d}s', 'd')), (0, 1, 1))
            self.whole(there)

    def test_a_source_that_grows_gives_a_whole_copy(self):
        size, new = 200_000, [f'new {i}' for i in range(1000)]
        server, replica = Server('--appendonly', 'yes'), Server()
        self.addCleanup(server.close)
        self.addCleanup(replica.close)
        with server.client() as ask, server.client() as other, replica.client() as there:
            there('REPLICAOF', '127.0.0.1', server.listen())
            until(lambda: b'master_link_status:up' in there('INFO', 'replication'), 'the replica is connected')
            ask('BF.RESERVE', 's', '1e-9', size)    # 1 MB or more: a thread copies it
            ask('BF.MADD', 's', *KEY)
            for first in range(0, size - KEYS, 10_000):
                ask('BF.MADD', 's', *range(first, min(first + 10_000, size - KEYS)))
            self.assertEqual((ask('BF.CARD', 's'), ask('BF.INFO', 's', 'FILTERS')), (size, [1]))
            self.assertEqual(self.during(server, ask, other, 'BF.MADD', 's', *new), [1] * len(new))
            self.assertEqual((ask.read(), ask('BF.INFO', 's', 'FILTERS')), (1, [2]))
            held = ask('BF.MEXISTS', 'd', *new)    # any number of the new keys
            self.assertEqual(ask('BF.MADD', 'd', *new), [1 - each for each in held])
            self.assertEqual((ask('SET', 'later', 'x'), ask('WAIT', 1, 0)), ('OK', 1))
            for client in ask, there:
                self.whole(client)
                self.assertEqual(client('BF.MEXISTS', 'd', *range(10_000)), [1] * 10_000)
                self.assertEqual(client('BF.MEXISTS', 'd', *new), [1] * len(new))
        server.restart(kill=True)
        with server.client() as again:
            for name in 'sd':
                self.whole(again, name)
                self.assertEqual(again('BF.MEXISTS', name, *new), [1] * len(new))

    def test_a_transaction_and_a_script_copy_at_once(self):
        for command in ('BLM.COPY', 'COPY'):
            _, ask, _ = self.setting(more=['copy-in-thread', 'yes'])
            self.assertEqual((ask('MULTI'), ask(command, 's', 'm'), ask('BF.EXISTS', 'm', KEY[0])), ('OK', 'QUEUED', 'QUEUED'))
            self.assertEqual(ask('EXEC'), [1, 1])
            script = f'return {{redis.call("{command}", KEYS[1], KEYS[2]), redis.call("EXISTS", KEYS[2])}}'
            self.assertEqual(ask('EVAL', script, 2, 's', 'e'), [1, 1])
            for name in 'me':
                self.whole(ask, name)

    def test_a_client_that_leaves_gets_no_copy(self):
        server, ask, other = self.setting()
        self.assertEqual(self.during(server, ask, other, 'CLIENT', 'KILL', 'SKIPME', 'yes', 'TYPE', 'normal'), 1)
        self.is_absent(server, other)
