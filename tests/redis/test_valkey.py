"""compatible valkey-bloom: its replies, errors, options, fields and events, and BF.LOAD."""
import json
import struct
import unittest

from server import Error, Server, until
from test_exchange import bits, keys, read

CASES = json.loads(read('rust-bloomfilter/manifest.json'))['cases']


def payload(case, filters=1, version=1):
    """What valkey-bloom writes into an append-only file for an object of one filter."""
    data = read('rust-bloomfilter/' + case['file'])
    return (struct.pack('<BIdd?QQ', version, 0, case['fp_p'], 0.5, False, filters, len(data)) + data
            + struct.pack('<qq', case['n_insert'], case['items_count']))


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
                             ('BF.INSERT k TIGHTENING 0.25', '0.5 only'), ('BF.INSERT k SEED short', 'invalid seed'), ('BF.INSERT k ITEMS', 'wrong number of arguments'),
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

    def test_events_tell_of_filters_and_items(self):
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
