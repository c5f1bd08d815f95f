"""compatible valkey-bloom: its replies, errors, options, fields and events, and BF.LOAD."""
import json
import struct
import unittest

from server import Error, Server, until
from test_exchange import bits, keys, read

CASES = json.loads(read('rust-bloomfilter/manifest.json'))['cases']


def payload(case, filters=1, version=1, expansion=0):
    """What valkey-bloom writes into an append-only file for an object of one filter."""
    data = read('rust-bloomfilter/' + case['file'])
    return (struct.pack('<BIdd?QQ', version, expansion, case['fp_p'], 0.5, False, filters, len(data)) + data
            + struct.pack('<qq', case['n_insert'], case['items_count']))


def seeded(ask, seed, key='s'):
    """A filter that grows to three stages. Return: its parameters as BF.INFO has them."""
    reply = ask('BF.INSERT', key, 'CAPACITY', 100, 'ERROR', '0.01', 'EXPANSION', 4, 'TIGHTENING', '0.25', 'SEED', seed, 'ITEMS', *range(1000))
    assert not isinstance(reply, Error), reply
    return state(ask, key)


def state(ask, key):
    """All that a client sees of a filter: its answers with the wrong ones, its parameters, its bits."""
    return (ask('BF.MEXISTS', key, *range(20000)), ask('BF.INFO', key), ask('BF.INFO', key, 'SEED'), ask('DEBUG', 'DIGEST-VALUE', key))


class Seeds(unittest.TestCase):
    SEED = bytes(range(200, 232))

    def server(self, *options, **more):
        server = Server(*options, **more, more=['compatible', 'valkey-bloom'])
        self.addCleanup(server.close)
        ask = server.client()
        self.addCleanup(ask.close)
        return server, ask

    def fill(self, ask):
        """Each with another set of parameters. Return: what they are"""
        seeded(ask, self.SEED)
        self.assertEqual(ask('BF.INSERT', 't', 'CAPACITY', 100, 'TIGHTENING', '0.75', 'ITEMS', *range(500))[0], 1)
        self.assertEqual(ask('BF.INSERT', 'n', 'CAPACITY', 100, 'NONSCALING', 'SEED', self.SEED, 'ITEMS', *range(90))[0], 1)
        return {key: state(ask, key) for key in 'stn'}

    def check(self, ask, states):
        for key, was in states.items():
            self.assertEqual(state(ask, key), was, key)
        full = ask('BF.MADD', 'n', *range(1000))
        self.assertEqual(full[-1], 'ERR non scaling filter is full')
        self.assertLess(len(full), 500)

    def test_bits_depend_on_the_seed_and_on_nothing_else(self):
        _, ask = self.server()
        _, other = self.server()
        self.assertEqual(seeded(ask, self.SEED), seeded(other, self.SEED))
        changed = seeded(other, bytes(32), 'c')
        self.assertNotEqual(changed[0], state(ask, 's')[0])
        self.assertEqual(changed[0][:1000], [1] * 1000)
        self.assertEqual(changed[2], bytes(32))
        self.assertIn('item exists', ask('BF.RESERVE', 's', '0.1', 10))

    def test_stages_have_the_rates_that_tightening_asks_for(self):
        _, ask = self.server(arguments=[])
        info = dict(zip(*[iter(seeded(ask, self.SEED)[1])] * 2))
        self.assertEqual((info['Capacity'], info['Number of filters'], info['Expansion rate'], info['Tightening ratio'], info['Error rate']),
                         (100 + 400 + 1600, 3, 4, b'0.25', b'0.01'))
        described = ask('BLM.INFO', 's')
        self.assertEqual(described[described.index('options') + 1], b'growth=4,tightening=0.25,blocked=0')
        self.assertEqual(ask('BF.INSERT', 'm', 'CAPACITY', 100, 'TIGHTENING', '0.25', 'VALIDATESCALETO', ask('BF.INFO', 's', 'MAXSCALEDCAPACITY'),
                             'ERROR', '0.01', 'EXPANSION', 4), [])
        ask('BF.RESERVE', 'plain', '0.01', 100)
        self.assertIn('invalid information value', ask('BF.INFO', 'plain', 'SEED'))

    def test_a_filter_with_a_seed_outlives_reloads_copies_and_dumps(self):
        for more in ({}, {'arguments': []}):
            _, ask = self.server(**more)
            states = self.fill(ask)
            for key in 'stn':
                self.assertEqual(ask('COPY', key, key + 'copy'), 1)
                self.assertEqual(ask('RESTORE', key + 'restored', 0, ask('DUMP', key)), 'OK')
            self.assertEqual(ask('DEBUG', 'RELOAD'), 'OK')
            for suffix in ('copy', 'restored'):
                for key, was in states.items():
                    self.assertEqual(state(ask, key + suffix), was, key + suffix)
            self.check(ask, states)

    def test_an_append_only_file_keeps_seeds_across_its_rewrite(self):
        server, ask = self.server('--appendonly', 'yes', '--aof-use-rdb-preamble', 'no', arguments=[])
        states = self.fill(ask)
        for rewrite in (False, True):
            if rewrite:
                self.assertNotIsInstance(ask('BGREWRITEAOF'), Error)
                until(lambda: b'aof_rewrite_in_progress:0' in ask('INFO', 'persistence'), 'the rewrite ended')
            server.restart()
            ask = server.client()
            self.addCleanup(ask.close)
            for key, was in states.items():
                self.assertEqual(state(ask, key), was, key)
        self.check(ask, states)

    def test_files_that_an_rdb_file_refers_to_keep_their_parameters(self):
        server = Server(more=['compatible', 'valkey-bloom', 'persist', 'files'])
        self.addCleanup(server.close)
        with server.client() as ask:
            states = self.fill(ask)
            self.assertEqual(ask('SAVE'), 'OK')
        server.restart(kill=True)
        with server.client() as ask:
            self.check(ask, states)

    def test_replicas_get_the_seed_by_commands_and_full_synchronisation(self):
        server, ask = self.server()
        seeded(ask, self.SEED, 'before')
        with Server(arguments=['bf-initial-size', '7']) as replica, replica.client() as other:
            other('REPLICAOF', '127.0.0.1', server.listen())
            until(lambda: b'master_link_status:up' in other('INFO', 'replication'), 'the replica is in step')
            self.fill(ask)
            self.assertEqual(ask('WAIT', 1, 60000), 1)
            for key in ('before', 's', 't', 'n'):
                for command in (('DEBUG', 'DIGEST-VALUE', key), ('BF.MEXISTS', key, *range(5000))):
                    self.assertEqual(other(*command), ask(*command), key)
            other('REPLICAOF', 'NO', 'ONE')
            self.assertEqual(other('BF.MADD', 'n', *range(1000))[-1], 'ERR non scaling filter is full')
            self.assertIn('Unknown argument', other('BF.INSERT', 'x', 'SEED', self.SEED, 'ITEMS', 'a'))

    def test_parameters_of_a_load_are_looked_at(self):
        _, ask = self.server(arguments=[])
        for words in (['SCALING', 0, 2, '0.1', '0.5'], ['SCALING', 1, -1, '0.1', '0.5'], ['SCALING', 1, 2, '1', '0.5'], ['SCALING', 1, 2, '0.1', 'x'],
                      ['x', 1, 2, '0.1', '0.5']):
            self.assertEqual(ask('BLM.LOAD', 'f', 'x', *words), 'ERR received bad data', words)

    def test_a_nonscaling_object_is_full_at_its_capacity(self):
        _, ask = self.server(arguments=[])
        for case in CASES:
            seed = read('rust-bloomfilter/' + case['file'])[13:45]
            self.assertEqual((ask('BF.LOAD', 'f', payload(case)), ask('BF.INFO', 'f', 'SEED')), ('OK', seed))
            self.assertEqual(ask('BF.INFO', 'f', 'CAPACITY'), case['items_count'])
            full = ask('BF.MADD', 'f', *range(4 * case['items_count']))
            self.assertEqual(full[-1], 'ERR non scaling filter is full')
            ask('DEL', 'f')
            self.assertEqual(ask('BF.LOAD', 'f', payload(case, expansion=2)), 'OK')
            self.assertNotIn('ERR non scaling filter is full', ask('BF.MADD', 'f', *range(4 * case['items_count'])))
            ask('DEL', 'f')


class Valkey(unittest.TestCase):
    def setUp(self):
        self.server = Server(arguments=['compatible', 'valkey-bloom'])
        self.addCleanup(self.server.close)
        self.ask = self.server.client()
        self.addCleanup(self.ask.close)

    def test_answers_are_integers_in_both_protocols(self):
        with self.server.client(3) as three:
            for ask in (self.ask, three):
                ask('FLUSHALL')
                for words, reply in ((['BF.ADD', 'f', 'a'], 1), (['BF.ADD', 'f', 'a'], 0), (['BF.MADD', 'f', 'a', 'b'], [0, 1]),
                                     (['BF.EXISTS', 'f', 'b'], 1), (['BF.MEXISTS', 'f', 'b', 'c'], [1, 0]), (['BF.MEXISTS', 'no', 'b'], [0]),
                                     (['BF.INSERT', 'g', 'CAPACITY', 1000, 'ITEMS', 'x', 'x'], [1, 0]), (['BF.INSERT', 'h', 'CAPACITY', 50], []),
                                     (['BF.INFO', 'h', 'capacity'], 50), (['BF.INFO', 'h', 'FILTERS'], 1), (['BF.CARD', 'g'], 1)):
                    self.assertEqual(repr(ask(*words)), repr(reply), words)

    def test_errors_have_the_words_of_valkey(self):
        self.ask('BF.RESERVE', 'n', '0.01', 2, 'NONSCALING')
        self.assertEqual(self.ask('BF.MADD', 'n', 0, 1, 2), [1, 1, 'ERR non scaling filter is full'])
        self.ask('SET', 's', 'x')
        for words, error in (('BF.INFO none', 'not found'), ('BF.ADD n 5', 'non scaling filter is full'), ('BF.INFO n x', 'invalid information value'),
                             ('BF.INFO n TIGHTENING', 'invalid information value'), ('BF.INSERT k HELLO', 'unknown argument received'),
                             ('BF.INSERT k ERROR 2 ITEMS a', '(0 < error rate range < 1)'), ('BF.INSERT k ERROR x ITEMS a', 'bad error rate'),
                             ('BF.INSERT k CAPACITY -1 ITEMS a', 'bad capacity'), ('BF.INSERT k CAPACITY 0 ITEMS a', '(capacity should be larger than 0)'),
                             ('BF.INSERT k EXPANSION 4294967299 ITEMS a', 'bad expansion'), ('BF.INSERT k NOCREATE ITEMS a', 'not found'),
                             ('BF.INSERT k TIGHTENING x', 'bad tightening ratio'), ('BF.INSERT k TIGHTENING 1', '(0 < tightening ratio range < 1)'),
                             ('BF.INSERT k TIGHTENING 0.05', '0.1 to 0.95'), ('BF.INSERT k SEED short', 'invalid seed'), ('BF.INSERT k ITEMS', 'wrong number of arguments'),
                             ('BF.INSERT k ERROR 1e-300 VALIDATESCALETO 10', 'false positive to degrade to 0'),
                             ('BF.INSERT k VALIDATESCALETO 1000000000000', 'causes bloom object to exceed memory limit'),
                             ('BF.INSERT k VALIDATESCALETO 1000 NONSCALING', 'cannot use NONSCALING and VALIDATESCALETO'),
                             ('BF.RESERVE k x 100', 'bad error rate'), ('BF.RESERVE k 2 100', '(0 < error rate range < 1)'),
                             ('BF.RESERVE k 0.1 x', 'bad capacity'), ('BF.RESERVE k 0.5 0', '(capacity should be larger than 0)'),
                             ('BF.RESERVE k 0.1 1 NONSCALING EXPANSION 1', 'wrong number of arguments'), ('BF.RESERVE n 0.1 1', 'item exists'),
                             ('BF.EXISTS s a', 'WRONGTYPE')):
            reply = self.ask(*words.split())
            self.assertIsInstance(reply, Error, words)
            self.assertIn(error, reply, words)
        self.assertEqual(self.ask('EXISTS', 'k'), 0)

    def test_names_of_commands_are_in_capitals(self):
        self.assertIn("'BF.ADD' command", self.ask('bf.add', 'f'))
        self.assertEqual(self.ask('bf.add', 'f', 'x'), 1)
        self.assertIn(b'cmdstat_BF.ADD', self.ask('INFO', 'commandstats'))
        self.assertIn("'cf.add' command", self.ask('CF.ADD', 'f'))

    def test_info_has_the_fields_of_valkey(self):
        self.assertEqual(self.ask('BF.INSERT', 'f', 'CAPACITY', 100, 'ERROR', '0.01', 'EXPANSION', 4, 'TIGHTENING', '0.5',
                                  'SEED', b's' * 32, 'VALIDATESCALETO', 2000, 'ITEMS', 'a'), [1])
        info = dict(zip(*[iter(self.ask('BF.INFO', 'f'))] * 2))
        size, most = info.pop('Size'), info.pop('Max scaled capacity')
        self.assertEqual(info, {'Capacity': 100, 'Number of filters': 1, 'Number of items inserted': 1, 'Error rate': b'0.01',
                                'Expansion rate': 4, 'Tightening ratio': b'0.5'})
        self.assertEqual([self.ask('BF.INFO', 'f', field) for field in ('SIZE', 'MAXSCALEDCAPACITY', 'ERROR', 'TIGHTENING', 'EXPANSION')],
                         [size, most, b'0.01', b'0.5', 4])
        self.assertEqual(self.ask('BF.INSERT', 'g', 'CAPACITY', 100, 'ERROR', '0.01', 'EXPANSION', 4, 'TIGHTENING', '0.5', 'VALIDATESCALETO', most), [])
        self.assertIn('causes', self.ask('BF.INSERT', 'h', 'CAPACITY', 100, 'ERROR', '0.01', 'EXPANSION', 4, 'TIGHTENING', '0.5',
                                         'VALIDATESCALETO', most + 1))
        self.ask('BF.RESERVE', 'n', '0.001', 10, 'NONSCALING')
        self.assertEqual(self.ask('BF.INFO', 'n')[::2], ['Capacity', 'Size', 'Number of filters', 'Number of items inserted', 'Error rate',
                                                         'Expansion rate'])
        self.assertIsNone(self.ask('BF.INFO', 'n', 'EXPANSION'))

    def test_events_report_filters_and_items(self):
        self.ask('CONFIG', 'SET', 'notify-keyspace-events', 'KEA')
        with self.server.client() as other:
            other('PSUBSCRIBE', '__keyevent@0__:bloom.*')
            self.ask('BF.ADD', 'f', 'a')
            self.ask('BF.ADD', 'f', 'a')
            self.ask('BF.RESERVE', 'g', '0.1', 10)
            self.ask('BF.MADD', 'g', 'x', 'y')
            self.ask('BF.INSERT', 'h')
            events = [other.read()[2:] for _ in range(5)]
        self.assertEqual(events, [[b'__keyevent@0__:bloom.' + event, key] for event, key in (
            (b'add', b'f'), (b'reserve', b'f'), (b'reserve', b'g'), (b'add', b'g'), (b'reserve', b'h'))])

    def test_a_replica_with_other_defaults_has_the_same_filter(self):
        with Server(arguments=['bf-initial-size', '7', 'bf-error-rate', '0.2']) as replica, replica.client() as other:
            other('REPLICAOF', '127.0.0.1', self.server.listen())
            until(lambda: b'master_link_status:up' in other('INFO', 'replication'), 'the replica is in step')
            self.ask('BF.ADD', 'f', 'a')
            self.ask('BF.RESERVE', 'n', '0.001', 10, 'NONSCALING')
            self.ask('BF.INSERT', 'g', 'TIGHTENING', '0.5', 'ITEMS', *range(500))
            self.assertEqual(self.ask('WAIT', 1, 60000), 1)
            for key in 'fng':
                self.assertEqual(other('DEBUG', 'DIGEST-VALUE', key), self.ask('DEBUG', 'DIGEST-VALUE', key), key)

    def test_objects_of_one_filter_are_loaded(self):
        for case in CASES:
            name = case['name']
            self.assertEqual(self.ask('BF.LOAD', name, payload(case)), 'OK')
            probes = keys(case['probes'])
            self.assertEqual(self.ask('BF.MEXISTS', name, *probes), bits(case['probe_answers_lsb_first_hex'])[:len(probes)])
            self.assertEqual(self.ask('BF.MEXISTS', name, *keys(case['keys'])[:case['n_insert']]), [1] * case['n_insert'])
            self.assertIn('BUSYKEY', self.ask('BF.LOAD', name, payload(case)))
            whole = payload(case)
            for bad, error in ((payload(case, filters=2), 'one filter'), (payload(case, version=2), 'Unsupported version'), (b'', 'decoding failed'),
                               *((whole[:end], 'decoding failed') for end in range(1, 100)), (whole + b'x', 'decoding failed')):
                self.assertIn(error, self.ask('BF.LOAD', 'bad', bad))
        self.assertEqual(self.ask('DEBUG', 'RELOAD'), 'OK')
        self.assertEqual(self.ask('EXISTS', 'bad', CASES[0]['name']), 1)

    def test_without_the_argument_all_is_as_redisbloom(self):
        with Server(arguments=['compatible', 'redisbloom']) as server, server.client(3) as ask:
            self.assertIs(ask('BF.ADD', 'f', 'a'), True)
            self.assertIn('Unknown argument', ask('BF.INSERT', 'g', 'TIGHTENING', '0.5', 'ITEMS', 'a'))
            self.assertEqual(ask('BF.LOAD', 'h', payload(CASES[0])), 'OK')
        with self.assertRaisesRegex(AssertionError, 'neither redisbloom nor valkey-bloom'):
            Server(arguments=['compatible', 'x'])
