"""Filters whose cells change both ways: in memory, and saved as they were when the save began."""
import os
import pathlib
import re
import unittest

from server import Error, Server, until

KINDS = ('counting', 'cuckoo', 'd-left', 'redis-cuckoo')
KEYS = [f'key-{i}' for i in range(200)]
STAY, LEAVE = KEYS[:100], KEYS[100:]
PAGE = pathlib.Path(__file__).resolve().parents[2] / 'tools/man/bloomery-redis.7'


def wait_for(ask, command, field):
    until(lambda: field in ask('INFO', 'persistence'), f'{command} ended')


class BothWays(unittest.TestCase):
    def fill(self, ask, name, kind):
        self.assertEqual(ask('BLM.CREATE', name, 'CAPACITY', 1000, 'RATE', '0.0001', 'KIND', kind), 'OK')
        ask('BLM.ADD', name, *KEYS)
        ask('BLM.REMOVE', name, *LEAVE)

    def check(self, ask, names):
        for name in names:
            self.assertEqual(ask('BF.MEXISTS', name, *STAY), [1] * len(STAY), name)
            self.assertLess(sum(ask('BF.MEXISTS', name, *LEAVE)), 5, name)
            self.assertEqual(ask('BF.CARD', name), len(STAY), name)

    def test_they_survive_reloads_copies_dumps_and_replicas(self):
        for more in ([], ['persist', 'files', 'dump-in-thread', 'yes']):
            with Server(more=more) as server, server.client() as ask, Server() as replica, replica.client() as other:
                for kind in KINDS:
                    self.fill(ask, kind, kind)
                    self.assertEqual(ask('COPY', kind, kind + '-copy'), 1)
                    self.assertEqual(ask('RESTORE', kind + '-restored', 0, ask('DUMP', kind)), 'OK')
                names = [kind + end for kind in KINDS for end in ('', '-copy', '-restored')]
                self.check(ask, names)
                self.assertEqual(server.names(), [])
                self.assertEqual(ask('DEBUG', 'RELOAD'), 'OK')
                self.check(ask, names)
                other('REPLICAOF', '127.0.0.1', server.listen())
                until(lambda: b'master_link_status:up' in other('INFO', 'replication'), 'the replica is in step')
                self.check(other, names)
                for name in names:
                    ask('BLM.REMOVE', name, *STAY)
                self.assertEqual(ask('WAIT', 1, 60000), 1)
                self.assertEqual([(ask('BF.CARD', name), other('BF.CARD', name)) for name in names], [(0, 0)] * len(names))

    def test_a_command_of_bloom_filters_adds_an_item_once(self):
        with Server() as server, server.client() as ask:
            for kind in KINDS:
                seeds = [] if kind == 'redis-cuckoo' else ['SEEDS', 7]
                self.assertEqual(ask('BLM.CREATE', kind, 'CAPACITY', 1000, 'RATE', '0.0001', 'KIND', kind, *seeds), 'OK')
                self.assertEqual([ask('BF.ADD', kind, 'same') for _ in range(6)], [1] + [0] * 5, kind)
                self.assertEqual(ask('BF.MADD', kind, 'same', 'other', 'other'), [0, 1, 0], kind)
                self.assertEqual(ask('BF.CARD', kind), 2, kind)
            self.assertEqual(ask('BLM.CREATE', 'iblt', 'CAPACITY', 100, 'KIND', 'iblt'), 'OK')
            self.assertEqual((ask('BF.ADD', 'iblt', 'same'), ask('BF.MADD', 'iblt', 'other')), (1, [1]))

    def test_an_append_only_file_counts_each_key_once(self):
        with Server('--appendonly', 'yes', '--aof-use-rdb-preamble', 'no') as server:
            with server.client() as ask:
                for kind in KINDS:
                    self.fill(ask, kind, kind)
            server.restart(kill=True)
            with server.client() as ask:
                self.check(ask, KINDS)
                self.assertNotIsInstance(ask('BGREWRITEAOF'), Error)
                wait_for(ask, 'BGREWRITEAOF', b'aof_rewrite_in_progress:0')
            server.restart(kill=True)
            with server.client() as ask:
                self.check(ask, KINDS)

    def test_a_background_save_has_the_keys_of_its_beginning(self):
        names = [f'{kind}-{i}' for kind in KINDS for i in range(2)]
        with Server('--rdb-key-save-delay', '50000') as server:
            with server.client() as ask:
                for name in names:
                    self.fill(ask, name, name.rsplit('-', 1)[0])
                self.assertNotIsInstance(ask('BGSAVE'), Error)
                for name in names:
                    ask('BLM.REMOVE', name, *STAY)
                    ask('BLM.ADD', name, *LEAVE)
                wait_for(ask, 'BGSAVE', b'rdb_bgsave_in_progress:0')
                self.assertIn(b'rdb_last_bgsave_status:ok', ask('INFO', 'persistence'))
                self.assertEqual([sum(ask('BF.MEXISTS', name, *LEAVE)) for name in names], [len(LEAVE)] * len(names))
            server.restart(kill=True)
            with server.client() as ask:
                self.check(ask, names)

    def test_values_and_unions_are_saved(self):
        with Server() as server, server.client() as ask:
            for name, key in (('a', 'x'), ('b', 'y')):
                self.assertEqual(ask('BLM.CREATE', name, 'CAPACITY', 1000, 'RATE', '0.0001', 'KIND', 'counting', 'SEEDS', 5), 'OK')
                ask('BLM.ADD', name, key)
            self.assertEqual(ask('BLM.UNION', 'a', 'b'), 'OK')
            self.assertEqual(ask('BLM.CREATE', 'v', 'CAPACITY', 1000, 'KIND', 'approximator'), 'OK')
            ask('BLM.PUT', 'v', 'x', 7)
            self.assertEqual(ask('BLM.PUBLISH', 'a', 'published'), 'OK')
            self.assertIn('of this kind in memory', ask('BLM.SYNC', 'a'))
            self.assertEqual(ask('DEBUG', 'RELOAD'), 'OK')
            self.assertEqual(ask('BF.MEXISTS', 'a', 'x', 'y', 'none'), [1, 1, 0])
            self.assertEqual(ask('BLM.GET', 'v', 'x'), 7)
            self.assertEqual(server.names(), ['published'])
            self.assertEqual(os.listdir(server.folder).count('store'), 1)

    def test_a_union_into_an_attached_filter_copies_its_sources(self):
        """A save makes the next change one of a copy, and the union must not read the memory that goes."""
        with Server() as server, server.client() as ask, server.client() as other:
            server.program('create', 'f', '--kind', 'counting', '-n', '2000000', '--seed', '5')
            self.assertEqual(ask('BLM.ATTACH', 'a', 'f'), 'OK')
            self.assertEqual(ask('BLM.CREATE', 's', 'CAPACITY', 2000000, 'KIND', 'counting', 'SEEDS', 5), 'OK')
            ask('BLM.ADD', 's', 'x')
            ask.send('BLM.UNION', 'a', *['s'] * 30)
            until(lambda: b'cmd=blm.union' in other('CLIENT', 'LIST'), 'the command was sent')
            self.assertNotIsInstance(other('BGSAVE'), Error)
            other('BLM.ADD', 's', 'y')
            self.assertEqual(ask.read(), 'OK')
            self.assertEqual(ask('BF.MEXISTS', 'a', 'x', 'none'), [1, 0])

    def test_the_page_says_where_a_kind_is_kept(self):
        text = ' '.join(PAGE.read_text().split())
        files, memory = [re.search(sentence + r': ([^.]*)\.', text)[1].split(', ')
                         for sentence in ('can be files of the store', 'are in memory')]
        with Server() as server, server.client() as ask:
            for kind in files + memory:
                size = ['CELLS', 1000] if kind == 'bitmap' else ['CAPACITY', 1000]
                self.assertEqual(ask('BLM.CREATE', kind, *size, 'KIND', kind), 'OK', kind)
                path = dict(zip(*[iter(ask('BLM.INFO', kind))] * 2))['path']
                self.assertEqual(bool(path), kind in files, kind)
            for kind in ('window', 'stable', 'recent', 'fuse', 'bloomier', 'none'):
                self.assertIn('KIND: the server makes no filters of this kind', ask('BLM.CREATE', 'x', 'CAPACITY', 9, 'KIND', kind))

    def test_kinds_without_removal_or_claims_are_saved(self):
        with Server('--rdb-key-save-delay', '50000') as server:
            with server.client() as ask:
                self.assertEqual(ask('BLM.CREATE', 'state', 'CAPACITY', 1000, 'KIND', 'hash-compact', 'SEEDS', 5), 'OK')
                self.assertEqual(ask('BLM.CREATE', 'set', 'CAPACITY', 1000, 'KIND', 'iblt', 'SEEDS', 5), 'OK')
                self.assertEqual(ask('BLM.CLAIM', 'state', *STAY), b'\xff' * 12 + b'\x0f')
                self.assertIn('cannot take keys out', ask('BLM.REMOVE', 'state', *LEAVE))
                self.assertIn('cannot tell who was first', ask('BLM.CLAIM', 'set', 'x'))
                ask('BLM.ADD', 'set', *KEYS)
                ask('BLM.REMOVE', 'set', *LEAVE)
                self.assertEqual([ask('COPY', 'state', 'state-copy'), ask('COPY', 'set', 'set-copy')], [1, 1])
                self.assertEqual(ask('DEBUG', 'RELOAD'), 'OK')
                self.assertNotIsInstance(ask('BGSAVE'), Error)
                ask('BLM.ADD', 'state', *LEAVE)
                ask('BLM.ADD', 'set', *LEAVE)
                wait_for(ask, 'BGSAVE', b'rdb_bgsave_in_progress:0')
                self.assertEqual([ask('BF.CARD', name) for name in ('state', 'set')], [200, 200])
            server.restart(kill=True)
            with server.client() as ask:
                self.check(ask, ['state', 'state-copy', 'set', 'set-copy'])
