"""Files of the store: saving, loading, replicas, local processes, and what deletes a file."""
import os
import pathlib
import subprocess
import unittest

from server import PROGRAM, Error, Server, until

KEYS = [f'key-{i}' for i in range(3000)]
FULL = os.environ.get('BLOOMERY_TEST_SCALE', 'full') == 'full'


class Store(unittest.TestCase):
    def fill(self, ask):
        """Three keys, one of each type."""
        self.assertEqual(ask('BF.RESERVE', 'b', '0.001', 1000), 'OK')
        self.assertEqual(ask('BLM.CREATE', 'm', 'CAPACITY', 10000, 'RATE', '0.001', 'KIND', 'blocked'), 'OK')
        ask('BF.MADD', 'b', *KEYS)
        ask('BLM.ADD', 'm', *KEYS)
        ask('CF.INSERT', 'c', 'ITEMS', *KEYS)
        ask('CF.INSERT', 'c', 'ITEMS', *KEYS[:10])
        ask('CF.DEL', 'c', KEYS[0])

    def check(self, ask):
        self.assertEqual(ask('BF.MEXISTS', 'b', *KEYS), [1] * len(KEYS))
        self.assertEqual(ask('BF.MEXISTS', 'm', *KEYS), [1] * len(KEYS))
        self.assertEqual(ask('CF.MEXISTS', 'c', *KEYS), [1] * len(KEYS))
        self.assertGreater(sum(1 - a for a in ask('BF.MEXISTS', 'b', *range(1000))), 980)

    def facts(self, ask):
        return [ask('DEBUG', 'DIGEST-VALUE', key) for key in 'bmc'] + [ask('BF.CARD', 'b'), ask('BF.CARD', 'm'), ask('CF.INFO', 'c')]

    def test_a_reload_keeps_every_key_and_count(self):
        with Server() as server, server.client() as ask:
            self.fill(ask)
            before = self.facts(ask)
            self.assertEqual(ask('DEBUG', 'RELOAD'), 'OK')
            self.check(ask)
            self.assertEqual(self.facts(ask), before)
            self.assertEqual(server.names(), ['redis.0.b', 'redis.0.m'])

    def test_a_restart_uses_files_that_local_processes_fill(self):
        with Server() as server:
            with server.client() as ask:
                self.fill(ask)
                self.assertEqual(ask('SAVE'), 'OK')
                path = dict(zip(*[iter(ask('BLM.INFO', 'b'))] * 2))['path']
            self.assertEqual(server.program('claim', 'redis.0.b', keys=b'local\n').stdout, b'local\n')
            server.restart(kill=True)
            with server.client() as ask:
                self.check(ask)
                self.assertEqual(ask('BF.ADD', 'b', 'local'), 0)
                self.assertEqual(dict(zip(*[iter(ask('BLM.INFO', 'b'))] * 2))['path'], path)

    def test_a_file_that_lacks_a_saved_key_is_rebuilt(self):
        with Server() as server:
            with server.client() as ask:
                self.fill(ask)
                ask('SAVE')
            self.assertEqual(server.program('clear', 'redis.0.b').returncode, 0)
            server.restart(kill=True)
            with server.client() as ask:
                self.check(ask)

    def full(self, ask, name):
        return sum(ask('BF.MEXISTS', name, *range(500)))

    def test_a_restart_gives_no_key_the_file_of_another(self):
        long = ['k' * 300 + end for end in 'ab']
        with Server() as server:
            with server.client() as ask:
                for name in ('seen', 'copied', 'there', *long):
                    ask('BF.RESERVE', name, '0.01', 1000)
                    ask('BF.MADD', name, *range(500))
                ask('RENAME', 'seen', 'old')
                ask('RENAME', long[0], 'older')
                ask('MOVE', 'there', 1)
                ask('COPY', 'copied', 'copy', 'DB', 1)
                for name in ('seen', long[0], 'there', 'copy'):
                    ask('BF.RESERVE', name, '0.01', 1000)
                self.assertEqual(ask('SAVE'), 'OK')
            server.restart(kill=True)
            with server.client() as ask:
                self.assertEqual([self.full(ask, name) for name in ('old', 'older', 'copied', long[1])], [500] * 4)
                for name in ('seen', long[0], 'there', 'copy'):
                    self.assertLess(self.full(ask, name), 50)
                ask('SELECT', 1)
                self.assertEqual([self.full(ask, name) for name in ('there', 'copy')], [500, 500])

    def test_a_renamed_key_keeps_what_local_processes_added(self):
        with Server() as server:
            with server.client() as ask:
                ask('BF.RESERVE', 'a', '0.001', 1000)
                ask('BF.RESERVE', 'b', '0.001', 1000)
                ask('BF.ADD', 'a', 'mine')
                ask('RENAME', 'a', 'c')
                ask('RESTORE', 'b', 0, ask('DUMP', 'b'), 'REPLACE')
                ask('BF.RESERVE', 'a', '0.001', 1000)
                ask('SAVE')
                names = {key: dict(zip(*[iter(ask('BLM.INFO', key))] * 2))['name'].decode() for key in 'abc'}
            self.assertEqual(names, {'a': 'redis.0.a~2', 'b': 'redis.0.b~2', 'c': 'redis.0.a'})
            for key, name in names.items():
                self.assertEqual(server.program('claim', name, keys=key.encode()).returncode, 0)
            server.restart(kill=True)
            with server.client() as ask:
                for key in 'abc':
                    self.assertEqual(ask('BF.MEXISTS', key, *'abc'), [int(key == other) for other in 'abc'])
                self.assertEqual(ask('BF.EXISTS', 'c', 'mine'), 1)
                self.assertEqual(len(server.names()), 3)

    def test_the_append_only_file_renames_to_the_keys_file(self):
        with Server('--appendonly', 'yes') as server:
            with server.client() as ask:
                ask('BF.RESERVE', 'a', '0.001', 1000)
                ask('BF.ADD', 'a', 'mine')
                ask('RENAME', 'a', 'c')
                ask('BF.ADD', 'c', 'later')
            self.assertEqual(server.program('claim', 'redis.0.a', keys=b'local').returncode, 0)
            server.restart()
            with server.client() as ask:
                self.assertEqual(ask('BF.MEXISTS', 'c', 'mine', 'later', 'local', 'x'), [1, 1, 1, 0])
            until(lambda: server.names() == ['redis.0.a'], 'the other file is dropped')

    def test_databases_that_are_swapped_do_not_swap_their_files(self):
        with Server() as server:
            with server.client() as ask:
                ask('BF.RESERVE', 'b', '0.01', 1000)
                ask('BF.MADD', 'b', *range(500))
                ask('SELECT', 1)
                ask('BF.RESERVE', 'b', '0.01', 1000)
                ask('SWAPDB', 0, 1)
                self.assertEqual(ask('SAVE'), 'OK')
            server.restart(kill=True)
            with server.client() as ask:
                self.assertLess(self.full(ask, 'b'), 50)
                ask('SELECT', 1)
                self.assertEqual(self.full(ask, 'b'), 500)

    def test_a_file_without_its_keys_label_is_rebuilt(self):
        with Server() as server:
            with server.client() as ask:
                ask('BF.RESERVE', 'b', '0.01', 1000)
                ask('SAVE')
            self.assertEqual(server.program('claim', 'redis.0.b', keys=b'local\n').stdout, b'local\n')
            self.assertEqual(server.program('label', 'redis.0.b', 'redis=').returncode, 0)
            server.restart(kill=True)
            with server.client() as ask:
                self.assertEqual(ask('BF.ADD', 'b', 'local'), 1)

    def test_files_of_keys_that_are_gone_are_swept(self):
        with Server() as server:
            with server.client() as ask:
                self.fill(ask)
            self.assertEqual(server.program('create', 'mine', '-n', '100').returncode, 0)
            self.assertEqual(server.names(), ['mine', 'redis.0.b', 'redis.0.m'])
            server.restart(kill=True)
            until(lambda: server.names() == ['mine'], 'the files of no key are dropped')

    def test_the_append_only_file_brings_all_back(self):
        with Server('--appendonly', 'yes', '--aof-use-rdb-preamble', 'no') as server:
            with server.client() as ask:
                self.fill(ask)
                before = self.facts(ask)
                self.assertNotIsInstance(ask('BGREWRITEAOF'), Error)
                until(lambda: b'aof_rewrite_in_progress:0' in ask('INFO', 'persistence')
                      and b'aof_last_bgrewrite_status:ok' in ask('INFO', 'persistence'), 'the file is written anew')
                ask('BF.ADD', 'b', 'later')
            server.restart()
            with server.client() as ask:
                self.check(ask)
                self.assertEqual(ask('BF.ADD', 'b', 'later'), 0)
                self.assertEqual(self.facts(ask)[2], before[2])

    def test_a_replica_has_what_a_local_process_claimed_first(self):
        with Server('--port', '0') as master, Server() as replica:
            with master.client() as ask, replica.client() as other:
                self.fill(ask)
                port = master.listen()
                other('REPLICAOF', '127.0.0.1', port)
                until(lambda: b'master_link_status:up' in other('INFO', 'replication'), 'the replica is in step')
                self.check(other)
                self.assertEqual(self.facts(other), self.facts(ask))
                self.assertEqual(master.program('claim', 'redis.0.b', keys=b'local\n').stdout, b'local\n')
                self.assertEqual(other('BF.EXISTS', 'b', 'local'), 0)
                self.assertEqual(ask('BF.ADD', 'b', 'local'), 0)
                self.assertEqual(ask('BLM.CREATE', 'n', 'CAPACITY', 100), 'OK')
                ask('BLM.CLAIM', 'n', 'x')
                self.assertEqual(ask('WAIT', 1, 60000), 1)
                self.assertEqual(other('BF.EXISTS', 'b', 'local'), 1)
                self.assertEqual(other('DEBUG', 'DIGEST-VALUE', 'n'), ask('DEBUG', 'DIGEST-VALUE', 'n'))

    def test_a_childs_save_has_the_cuckoo_filters_beginning(self):
        with Server() as server:
            with server.client() as ask:
                for name in 'cdef':
                    ask('CF.RESERVE', name, 1000)
                    ask('CF.INSERT', name, 'ITEMS', *KEYS[:500])
                ask('CONFIG', 'SET', 'rdb-key-save-delay', 2000000)
                ask('BGSAVE')
                for name in 'cdef':
                    ask('CF.INSERT', name, 'ITEMS', *KEYS[500:600])
                    ask('CF.DEL', name, KEYS[0])
                until(lambda: b'rdb_bgsave_in_progress:0' in ask('INFO', 'persistence'), 'the child has saved')
                self.assertEqual([ask('CF.INFO', name)[7] for name in 'cdef'], [599] * 4)
            server.restart(kill=True)
            with server.client() as ask:
                for name in 'cdef':
                    self.assertEqual(ask('CF.INFO', name)[7], 500)
                    self.assertEqual(ask('CF.MEXISTS', name, *KEYS[:500]), [1] * 500)

    def test_a_childs_save_reads_a_growing_bloom_filter(self):
        for arguments in (None, []):
            with self.subTest(arguments), Server(arguments=arguments) as server:
                with server.client() as ask:
                    for name in 'abc':
                        ask('BF.RESERVE', name, '0.01', 100)
                        ask('BF.MADD', name, *KEYS[:90])
                    ask('CONFIG', 'SET', 'rdb-key-save-delay', 1000000)
                    ask('BGSAVE')
                    for name in 'abc':
                        ask('BF.MADD', name, *KEYS[90:])
                        self.assertGreater(ask('BF.INFO', name, 'FILTERS')[0], 3)
                    until(lambda: b'rdb_bgsave_in_progress:0' in ask('INFO', 'persistence'), 'the child has saved')
                    self.assertIn(b'rdb_last_bgsave_status:ok', ask('INFO', 'persistence'))
                server.restart(kill=True)
                with server.client() as ask:
                    for name in 'abc':
                        self.assertEqual(ask('BF.MEXISTS', name, *KEYS[:90]), [1] * 90)

    def test_no_key_is_new_twice(self):
        """An add of 200 probes, each to a page of its own, takes long: the two meet at some of the keys."""
        with Server() as server, server.client() as ask:
            for name in 'abc' if FULL else 'a':
                ask('BF.RESERVE', name, '1e-60', 1000000)
                lines = [f'{name}-{i}' for i in range(20000)]
                parts = [lines[i:i + 1000] for i in range(0, len(lines), 1000)]
                with open(f'{server.folder}/keys', 'w', encoding='ascii') as keys:
                    keys.write(''.join(line + '\n' for line in lines))
                with open(f'{server.folder}/keys', 'rb') as keys, subprocess.Popen(
                        [PROGRAM, 'claim', '--store', f'{server.folder}/store', f'redis.0.{name}'], stdin=keys, stdout=subprocess.PIPE) as local:
                    for part in parts:
                        ask.send('BF.MADD', name, *part)
                    won = {key for part in parts for key, new in zip(part, ask.read()) if new}
                    out, _ = local.communicate()
                theirs = set(out.decode().split())
                self.assertFalse(won & theirs)
                self.assertEqual(won | theirs, set(lines))

    def test_only_the_end_of_a_key_deletes_its_file(self):
        with Server() as server, server.client() as ask:
            ask('BF.ADD', 'a', 'x')
            ask('RENAME', 'a', 'b')
            self.assertEqual(ask('BF.EXISTS', 'b', 'x'), 1)
            self.assertEqual(server.names(), ['redis.0.a'])
            self.assertEqual(ask('COPY', 'b', 'c'), 1)
            self.assertEqual(ask('BF.ADD', 'c', 'y'), 1)
            self.assertEqual(ask('BF.EXISTS', 'b', 'y'), 0)
            self.assertEqual(server.names(), ['redis.0.a', 'redis.0.c'])
            ask('SWAPDB', 0, 1)
            ask('SELECT', 1)
            self.assertEqual(ask('BF.EXISTS', 'c', 'y'), 1)
            self.assertGreater(ask('MEMORY', 'USAGE', 'c'), 100)
            ask('DEL', 'b')
            self.assertEqual(server.names(), ['redis.0.c'])
            ask('UNLINK', 'c')
            until(lambda: server.names() == [], 'the file is gone')
            ask('BF.ADD', 'd', 'x')
            ask('PEXPIRE', 'd', 1)
            until(lambda: ask('EXISTS', 'd') == 0 and server.names() == [], 'the file expires')
            ask('BF.ADD', 'e', 'x')
            ask('FLUSHALL')
            until(lambda: server.names() == [], 'the file is gone')

    def test_an_attached_filter_outlives_its_key(self):
        with Server() as server:
            self.assertEqual(server.program('create', 'seen', '-n', '1000', '-p', '0.001').returncode, 0)
            self.assertEqual(server.program('create', 'counts', '-n', '1000', '--kind', 'counting').returncode, 0)
            with server.client() as ask:
                self.assertIn('no filter', ask('BLM.ATTACH', 's', 'none'))
                self.assertIn('does not begin with redis.', ask('BLM.ATTACH', 's', 'redis.0.own'))
                self.assertEqual(ask('BLM.ATTACH', 's', 'seen'), 'OK')
                self.assertEqual(ask('BLM.ATTACH', 'k', 'counts'), 'OK')
                self.assertEqual(ask('BLM.CLAIM', 's', 'a', 'b'), b'\x03')
                self.assertEqual(ask('BLM.ADD', 'k', 'a'), b'\x01')
                self.assertEqual(ask('BLM.REMOVE', 'k', 'a', 'z'), b'\x01')
                self.assertIn('ERR', ask('BLM.PUT', 's', 'a', 1))
                self.assertEqual(ask('BLM.GET', 'k', 'b'), None)
                ask('BLM.ADD', 'k', 'b', 'b')
                self.assertEqual(ask('BLM.GET', 'k', 'b'), 2)
                self.assertIn('"dirty":true', server.program('info', 'seen', '--json').stdout.decode())
                self.assertEqual(ask('BLM.SYNC', 's'), 'OK')
                self.assertIn('"dirty":false', server.program('info', 'seen', '--json').stdout.decode())
                ask('MULTI')
                ask('BLM.SYNC', 's')
                self.assertEqual(ask('EXEC'), ['OK'])
                self.assertEqual(server.program('claim', 'seen', keys=b'a\nc\n').stdout, b'c\n')
                self.assertEqual(ask('BF.MEXISTS', 's', 'a', 'c', 'd'), [1, 1, 0])
                ask('DEBUG', 'RELOAD')
                self.assertEqual(ask('BF.MEXISTS', 's', 'a', 'c', 'd'), [1, 1, 0])
                ask('FLUSHALL')
                self.assertEqual(server.names(), ['counts', 'seen'])
                ask('BF.ADD', 'own', 'x')
                self.assertEqual(ask('BLM.DETACH', 'own', 'kept'), 'OK')
                self.assertEqual(ask('EXISTS', 'own'), 0)
            server.restart()
            self.assertEqual(server.program('test', 'kept', keys=b'x\n').stdout, b'x\n')
            self.assertIn('kept', server.names())

    def test_the_append_only_file_counts_no_key_twice(self):
        with Server('--appendonly', 'yes') as server:
            self.assertEqual(server.program('create', 'counts', '-n', '1000', '--kind', 'counting').returncode, 0)
            with server.client() as ask:
                ask('BLM.ATTACH', 'k', 'counts')
                ask('BLM.ADD', 'k', 'a')
                self.assertEqual(ask('BLM.GET', 'k', 'a'), 1)
                ask('CF.ADD', 'c', 'a')
            server.restart()
            with server.client() as ask:
                self.assertEqual(ask('BLM.GET', 'k', 'a'), 1)
                self.assertEqual(ask('CF.COUNT', 'c', 'a'), 1)

    def test_a_missing_key_is_attached_by_its_name(self):
        with Server(more=['auto-attach', 'yes']) as server, server.client() as ask:
            self.assertEqual(server.program('create', 'seen', '-n', '1000').returncode, 0)
            server.program('add', 'seen', keys=b'local')
            self.assertEqual(ask('BF.MEXISTS', 'seen', 'local', 'x'), [1, 0])
            self.assertEqual(ask('BLM.CLAIM', 'seen', 'local', 'x'), b'\x02')
            self.assertEqual(server.program('test', 'seen', keys=b'x\ny\n').stdout, b'x\n')
            self.assertEqual(ask('BF.EXISTS', 'none', 'x'), 0)
            self.assertEqual(ask('KEYS', '*'), [b'seen'])
            self.assertEqual(dict(zip(*[iter(ask('BLM.INFO', 'seen'))] * 2))['owned'], b'no')
            self.assertEqual(ask('DEL', 'seen'), 1)
            self.assertEqual(server.names(), ['seen'])
            self.assertEqual(ask('BF.ADD', 'redis.0.x', 'x'), 1)
            self.assertEqual(ask('BF.RESERVE', 'seen', '0.01', 10), 'OK')
            self.assertEqual(ask('BF.EXISTS', 'seen', 'x'), 0)

    def test_a_key_attached_during_a_pause_is_announced_later(self):
        with Server('--appendonly', 'yes', more=['auto-attach', 'yes']) as server, server.client() as ask:
            def announced():
                folder = f'{server.folder}/appendonlydir'
                return sum(pathlib.Path(folder, name).read_bytes().count(b'BLM.ATTACH') for name in os.listdir(folder))

            self.assertEqual(server.program('create', 'seen', '-n', '1000').returncode, 0)
            server.program('add', 'seen', keys=b'local')
            self.assertEqual(ask('CLIENT', 'PAUSE', 600000, 'WRITE'), 'OK')
            for _ in range(2):
                self.assertEqual(ask('BF.MEXISTS', 'seen', 'local', 'x'), [1, 0])
            self.assertEqual(announced(), 0)
            self.assertEqual(ask('CLIENT', 'UNPAUSE'), 'OK')
            for _ in range(2):
                self.assertEqual(ask('BF.MEXISTS', 'seen', 'local', 'x'), [1, 0])
            self.assertEqual(announced(), 1)

    def test_a_replica_attaches_what_its_master_attached(self):
        with Server(more=['auto-attach', 'yes']) as master, Server(more=['auto-attach', 'yes']) as replica:
            for server in (master, replica):
                self.assertEqual(server.program('create', 'seen', '-n', '1000').returncode, 0)
            with master.client() as ask, replica.client() as other:
                other('REPLICAOF', '127.0.0.1', master.listen())
                until(lambda: b'master_link_status:up' in other('INFO', 'replication'), 'the replica is in step')
                self.assertEqual(other('BF.EXISTS', 'seen', 'x'), 0)
                self.assertEqual(other('EXISTS', 'seen'), 0)
                self.assertEqual(ask('BF.EXISTS', 'seen', 'x'), 0)
                self.assertEqual(ask('BF.ADD', 'seen', 'x'), 1)
                self.assertEqual(ask('WAIT', 1, 60000), 1)
                self.assertEqual(other('BF.EXISTS', 'seen', 'x'), 1)
            self.assertEqual(replica.program('test', 'seen', keys=b'x\n').stdout, b'x\n')

    def test_attaching_by_itself_is_off_and_needs_a_store(self):
        with Server() as server, server.client() as ask:
            self.assertEqual(server.program('create', 'seen', '-n', '1000').returncode, 0)
            self.assertIn('not found', ask('BLM.CLAIM', 'seen', 'x'))
        for value, words in (('yes', 'needs the argument store'), ('maybe', 'neither yes nor no')):
            with self.assertRaisesRegex(AssertionError, f'auto-attach: {words}'):
                Server(arguments=['auto-attach', value])

    def test_replaying_an_attached_filters_adds_changes_nothing(self):
        with Server('--appendonly', 'yes') as server:
            self.assertEqual(server.program('create', 'seen', '-n', '1000').returncode, 0)
            with server.client() as ask:
                ask('BLM.ATTACH', 's', 'seen')
                self.assertEqual(ask('BF.ADD', 's', 'a'), 1)
                self.assertEqual(ask('BLM.CLAIM', 's', 'b'), b'\x01')
            self.assertEqual(server.program('clear', 'seen').returncode, 0)
            server.restart()
            with server.client() as ask:
                self.assertEqual(ask('BF.MEXISTS', 's', 'a', 'b'), [0, 0])

    def test_an_attached_key_finds_a_filter_that_comes_later(self):
        with Server() as server:
            self.assertEqual(server.program('create', 'seen', '-n', '1000').returncode, 0)
            with server.client() as ask:
                ask('BLM.ATTACH', 's', 'seen')
                ask('SAVE')
            self.assertEqual(server.program('drop', 'seen').returncode, 0)
            server.restart(kill=True)
            with server.client() as ask:
                self.assertIn('no such filter', ask('BF.EXISTS', 's', 'a'))
                self.assertEqual(server.program('create', 'seen', '-n', '1000').returncode, 0)
                self.assertEqual(ask('BF.ADD', 's', 'a'), 1)
            self.assertEqual(server.program('test', 'seen', keys=b'a\n').stdout, b'a\n')

    def test_a_filter_dropped_by_a_local_process_accepts_nothing(self):
        with Server() as server, server.client() as ask:
            ask('BF.ADD', 'b', 'x')
            self.assertEqual(server.program('drop', 'redis.0.b').returncode, 0)
            self.assertIsInstance(ask('BF.ADD', 'b', 'y'), Error)
            self.assertEqual(ask('DEL', 'b'), 1)
            self.assertEqual(ask('BF.ADD', 'b', 'y'), 1)
            self.assertEqual(server.names(), ['redis.0.b'])

    def test_a_second_server_is_refused_the_store(self):
        with Server() as server:
            with self.assertRaisesRegex(AssertionError, 'another server uses it'):
                Server(arguments=['store', f'{server.folder}/store'])

    def test_a_truncated_file_ends_no_server_and_loses_no_data(self):
        with Server() as server:
            with server.client() as ask:
                self.fill(ask)
                for name in 'bm':
                    os.truncate(dict(zip(*[iter(ask('BLM.INFO', name))] * 2))['path'], 0)
                    self.assertEqual(ask('BF.MEXISTS', name, *KEYS), [1] * len(KEYS))
                    self.assertIsInstance(ask('BF.ADD', name, 'y'), Error)
                self.assertEqual(ask('SAVE'), 'OK')
            server.restart(kill=True)
            with server.client() as ask:
                self.assertEqual(ask('CF.MEXISTS', 'c', *KEYS), [1] * len(KEYS))
                for name in 'bm':
                    self.assertNotEqual(ask('BF.EXISTS', name, KEYS[0]), 0)

    def test_keys_of_unsavable_filters_answer_with_errors(self):
        with Server() as server:
            with server.client() as ask:
                self.fill(ask)
                for name in 'bm':
                    self.assertEqual(server.program('create', f'redis.0.{name}', '--force', '--kind', 'counting', '-n', '100').returncode, 0)
                    ask('BF.EXISTS', name, 'x')
                self.assertEqual(ask('SAVE'), 'OK')
            server.restart(kill=True)
            with server.client() as ask:
                self.assertEqual(ask('CF.MEXISTS', 'c', *KEYS), [1] * len(KEYS))
                self.assertIn('chunks of it are missing', ask('BF.EXISTS', 'b', 'x'))
                self.assertIn('could not be saved', ask('BF.EXISTS', 'm', 'x'))
                self.assertEqual(ask('COPY', 'm', 'n'), 1)
                self.assertEqual(ask('DEBUG', 'RELOAD'), 'OK')
                self.assertEqual(ask('DEL', 'b', 'm', 'n'), 3)

    def test_a_failed_creation_states_the_cause(self):
        with Server() as server, server.client() as ask:
            self.assertIn('a multiple of 512', ask('BLM.CREATE', 'm', 'CELLS', 100, 'KIND', 'blocked'))
            ask('BF.ADD', 'b', 'x')
            self.assertIn('does not begin with redis.', ask('BLM.DETACH', 'b', 'redis.0.other'))
            self.assertEqual(ask('BF.EXISTS', 'b', 'x'), 1)
