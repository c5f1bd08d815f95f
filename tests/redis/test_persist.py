"""persist files: RDB files that refer to the files of the store."""
import os
import unittest

from server import Error, Server, until
from test_hostile import sign

KEYS = [f'key-{i}' for i in range(1000)]
CAPACITY = 1_000_000


class Persist(unittest.TestCase):
    def server(self, *options):
        return Server(*options, more=['persist', 'files'])

    def fill(self, ask):
        self.assertEqual(ask('BF.RESERVE', 'b', '0.001', CAPACITY), 'OK')
        self.assertEqual(ask('BF.RESERVE', 'n', '0.001', CAPACITY, 'NONSCALING'), 'OK')
        self.assertEqual(ask('BLM.CREATE', 'm', 'CAPACITY', CAPACITY), 'OK')
        for name in 'bnm':
            self.assertEqual(ask('BF.MADD', name, *KEYS), [1] * len(KEYS))
        ask('CF.ADD', 'c', 'x')

    def check(self, ask, *more, names='bnm'):
        for name in names:
            self.assertEqual(ask('BF.MEXISTS', name, *KEYS, *more, 'none'), [1] * (len(KEYS) + len(more)) + [0], name)
        self.assertEqual(ask('CF.EXISTS', 'c', 'x'), 1)

    def facts(self, ask):
        return [ask('BF.INFO', name) for name in 'bnm'] + [ask('DEBUG', 'DIGEST-VALUE', name) for name in 'bnm']

    def test_a_save_without_data_restores_every_key(self):
        for options in ([], ['--appendonly', 'yes']):
            with self.server(*options) as server:
                with server.client() as ask:
                    self.fill(ask)
                    ask('RENAME', 'm', 'moved')
                    ask('RENAME', 'moved', 'm')
                    self.assertEqual(ask('SAVE'), 'OK')
                    facts = self.facts(ask)
                self.assertLess(os.path.getsize(f'{server.folder}/dump.rdb'), 4000)
                server.restart(kill=True)
                with server.client() as ask:
                    self.check(ask)
                    self.assertEqual(self.facts(ask), facts)
                for name in ('redis.0.b', 'redis.0.n', 'redis.0.m'):
                    self.assertEqual(server.program('claim', name, keys=b'local').stdout, b'local\n')
                server.restart(kill=True)
                with server.client() as ask:
                    self.check(ask, 'local')

    def test_a_background_save_and_a_rewrite_refer_to_files(self):
        with self.server('--appendonly', 'yes') as server:
            with server.client() as ask:
                self.fill(ask)
                for command, field in (('BGSAVE', b'rdb_bgsave_in_progress:0'), ('BGREWRITEAOF', b'aof_rewrite_in_progress:0')):
                    self.assertNotIsInstance(ask(command), Error)
                    until(lambda: field in ask('INFO', 'persistence'), f'{command} ended')
                ask('BF.ADD', 'b', 'later')
            folder = f'{server.folder}/appendonlydir'
            for name in [f'{server.folder}/dump.rdb'] + [f'{folder}/{name}' for name in os.listdir(folder)]:
                self.assertLess(os.path.getsize(name), 4000, name)
            server.restart()
            with server.client() as ask:
                self.check(ask)
                self.assertEqual(ask('BF.EXISTS', 'b', 'later'), 1)

    def test_a_reload_and_a_dump_have_the_data(self):
        with self.server() as server, Server() as other, server.client() as ask, other.client() as elsewhere:
            self.fill(ask)
            facts = self.facts(ask)
            self.assertEqual(ask('DEBUG', 'RELOAD'), 'OK')
            self.check(ask)
            self.assertEqual(self.facts(ask), facts)
            self.assertEqual(elsewhere('RESTORE', 'b', 0, ask('DUMP', 'b')), 'OK')
            self.assertEqual(elsewhere('BF.MEXISTS', 'b', *KEYS), [1] * len(KEYS))
            ask('SAVE')    # drops nothing that a key has again
            self.assertEqual(server.names(), ['redis.0.b', 'redis.0.m', 'redis.0.n'])
            self.check(ask)

    def test_a_replica_gets_the_data(self):
        with self.server() as master, self.server() as replica:
            with master.client() as ask, replica.client() as other:
                self.fill(ask)
                other('REPLICAOF', '127.0.0.1', master.listen())
                until(lambda: b'master_link_status:up' in other('INFO', 'replication'), 'the replica is in step')
                self.check(other)
                other('REPLICAOF', 'NO', 'ONE')
                self.assertEqual(other('SAVE'), 'OK')
            self.assertLess(os.path.getsize(f'{replica.folder}/dump.rdb'), 4000)
            replica.restart(kill=True)
            with replica.client() as other:
                self.check(other)

    def delete_after_a_rewrite(self, ask):
        """The append-only file then begins with a reference to the file of a key, which later commands use and delete."""
        self.assertEqual(ask('BLM.CREATE', 'a', 'CAPACITY', 1000), 'OK')
        ask('BF.MADD', 'a', *KEYS)
        self.assertNotIsInstance(ask('BGREWRITEAOF'), Error)
        until(lambda: b'aof_rewrite_in_progress:0' in ask('INFO', 'persistence'), 'the rewrite ended')
        self.assertEqual(ask('COPY', 'a', 'copy'), 1)
        self.assertEqual(ask('BLM.UNION', 'union', 'a'), 'OK')
        self.assertEqual(ask('DEL', 'a'), 1)

    def test_a_deleted_keys_file_stays_until_the_next_save(self):
        with self.server() as server, self.server('--appendonly', 'yes') as other:
            with server.client() as ask:
                self.fill(ask)
                ask('SAVE')
                ask('DEL', 'b')
                ask('BF.ADD', 'b', 'other')
                self.assertEqual(server.names(), ['redis.0.b', 'redis.0.b~2', 'redis.0.m', 'redis.0.n'])
            server.restart(kill=True)
            with server.client() as ask:
                self.check(ask)
            with server.client() as ask, other.client() as rewritten:
                self.delete_after_a_rewrite(rewritten)
                ask('DEL', 'b')

                def dropped():
                    rewritten('SAVE')
                    ask('SAVE')
                    return server.names() == ['redis.0.m', 'redis.0.n']
                until(dropped, 'the file is dropped')
                self.assertEqual(other.names(), ['redis.0.a', 'redis.0.copy', 'redis.0.union'])
            other.restart(kill=True)
            with other.client() as ask:
                for name in ('copy', 'union'):
                    self.assertEqual(ask('BF.MEXISTS', name, *KEYS), [1] * len(KEYS), name)
            server.restart(kill=True)
            with server.client() as ask:
                self.check(ask, names='nm')
                self.assertEqual(ask('EXISTS', 'b'), 0)

    def test_a_key_without_its_file_answers_with_errors(self):
        with self.server() as server:
            with server.client() as ask:
                self.fill(ask)
                ask('SAVE')
            server.stop()
            for name in 'bm':
                self.assertEqual(server.program('drop', f'redis.0.{name}').returncode, 0)
            server.start()
            with server.client() as ask:
                self.check(ask, names='n')
                for name in 'bm':
                    self.assertIn('its file is gone', ask('BF.ADD', name, 'x'))
                    self.assertIn('its file is gone', ask('BF.EXISTS', name, 'x'))
                self.assertEqual(ask('DEBUG', 'RELOAD'), 'OK')
                self.assertEqual(ask('DEL', 'b', 'm'), 2)

    def test_a_client_can_restore_no_reference_to_a_file(self):
        with self.server() as server, server.client() as ask:
            self.fill(ask)
            uuid = b'\x05\x10' + bytes(16) + b'\x00'
            for name, body in (('m', b'\x02\x02'), ('b', b'\x02\x00\x02\x00\x02\x00\x02\x02\x02\x0a')):
                head = ask('DUMP', name)[:10]
                self.assertIsInstance(ask('RESTORE', 'x', 0, sign(head + body + uuid)), Error)
            self.assertEqual(ask('EXISTS', 'x'), 0)

    def test_files_need_a_store(self):
        for value, words in (('files', 'needs the argument store'), ('x', 'neither data nor files')):
            with self.assertRaisesRegex(AssertionError, words):
                Server(arguments=['persist', value])
