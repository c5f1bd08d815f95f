"""BLM.UNION and BLM.PUBLISH: what they make, what replicas get, and keys that go while they run."""
import unittest

from server import Error, Server, until

LARGE = 3_000_000    # keys of a filter whose union a thread runs


class Combine(unittest.TestCase):
    def make(self, ask, *names, capacity=1000):
        """Filters of one template: each has its own name as a key."""
        for name in names:
            self.assertEqual(ask('BLM.CREATE', name, 'CAPACITY', capacity, 'RATE', '1e-6', 'SEEDS', 7), 'OK')
            self.assertEqual(ask('BF.ADD', name, name), 1)

    def test_a_union_has_the_keys_of_all(self):
        for arguments in ([], None):
            with Server(arguments=arguments) as server, server.client() as ask:
                for capacity in (1000, LARGE):
                    self.make(ask, 'a', 'b', 'c', capacity=capacity)
                    self.assertEqual(ask('BLM.UNION', 'd', 'a', 'b', 'c'), 'OK')
                    self.assertEqual(ask('BF.MEXISTS', 'd', 'a', 'b', 'c', 'd'), [1, 1, 1, 0])
                    self.assertEqual(ask('BLM.UNION', 'a', 'b', 'a'), 'OK')
                    self.assertEqual(ask('BF.MEXISTS', 'a', 'a', 'b', 'c'), [1, 1, 0])
                    self.assertEqual(ask('DEBUG', 'RELOAD'), 'OK')
                    self.assertEqual(ask('BF.MEXISTS', 'd', 'a', 'b', 'c', 'd'), [1, 1, 1, 0])
                    ask('FLUSHALL')

    def test_bloom_filters_of_one_size_unite(self):
        with Server() as server, server.client() as ask:
            for name in 'ab':
                ask('BF.RESERVE', name, '0.001', 100, 'NONSCALING')
                ask('BF.ADD', name, name)
            self.assertEqual(ask('BLM.UNION', 'a', 'b'), 'OK')
            self.assertEqual(ask('BF.MEXISTS', 'a', 'a', 'b', 'c'), [1, 1, 0])
            self.assertEqual(ask('RESTORE', 'c', 0, ask('DUMP', 'a')), 'OK')
            self.assertEqual(ask('BF.MEXISTS', 'c', 'a', 'b', 'c'), [1, 1, 0])

    def test_an_impossible_union_is_refused_without_a_key(self):
        with Server() as server, server.client() as ask:
            self.make(ask, 'a')
            self.make(ask, 'b', capacity=5000)
            ask('SET', 's', 'x')
            ask('CF.ADD', 'f', 'x')
            for words in (['n', 'a', 'b'], ['a', 'b'], ['n', 'a', 'none'], ['n', 's'], ['s', 'a'], ['n', 'f'], ['n']):
                self.assertIsInstance(ask('BLM.UNION', *words), Error, words)
            self.assertEqual(ask('EXISTS', 'n', 'none'), 0)
            self.assertEqual(server.names(), ['redis.0.a', 'redis.0.b'])

    def test_a_union_makes_no_filter_that_cannot_be_saved(self):
        with Server() as server, server.client() as ask:
            self.assertEqual(server.program('create', 'counts', '-n', '1000', '--kind', 'counting').returncode, 0)
            self.assertEqual(ask('BLM.ATTACH', 'a', 'counts'), 'OK')
            self.assertIn('cannot save a filter of this kind', ask('BLM.UNION', 'n', 'a'))
            self.assertEqual(ask('EXISTS', 'n'), 0)
            self.assertEqual(ask('BLM.UNION', 'a', 'a'), 'OK')

    def test_replicas_unite_what_they_have(self):
        with Server() as master, Server() as replica, master.client() as ask, replica.client() as other:
            self.make(ask, 'a', 'b', capacity=LARGE)
            other('REPLICAOF', '127.0.0.1', master.listen())
            until(lambda: b'master_link_status:up' in other('INFO', 'replication'), 'the replica is in step')
            self.assertEqual(ask('BLM.UNION', 'c', 'a', 'b'), 'OK')
            self.assertEqual(ask('BF.ADD', 'c', 'later'), 1)
            self.assertEqual(ask('DEL', 'a'), 1)
            self.assertEqual(ask('WAIT', 1, 60000), 1)
            until(lambda: other('BF.MEXISTS', 'c', 'a', 'b', 'later', 'x') == [1, 1, 1, 0], 'the replica has the union')
            self.assertEqual(other('EXISTS', 'a'), 0)

    def test_keys_deleted_during_a_union_do_no_harm(self):
        with Server() as server, server.client() as ask, server.client() as other:
            for i in range(20):
                self.make(ask, 'a', 'b', capacity=LARGE)
                other.send('BLM.UNION', 'c', 'a', 'b', 'a', 'b')
                other.send('PING')
                ask('DEL', *('abc' if i % 2 else 'ab'))
                other.read()
                self.assertEqual(other.read(), 'PONG')
                ask('FLUSHALL')
            until(lambda: server.names() == [], 'the files are dropped')

    def test_a_published_filter_is_sealed_and_replaces_another(self):
        with Server() as server, server.client() as ask:
            self.make(ask, 'a', 'b')
            self.assertEqual(ask('BLM.PUBLISH', 'a', 'seen', 'WRITABLE'), 'OK')
            self.assertEqual(ask('BLM.ATTACH', 's', 'seen'), 'OK')
            self.assertEqual(ask('BF.ADD', 's', 'more'), 1)
            self.assertEqual(ask('BF.EXISTS', 'a', 'more'), 0)
            self.assertEqual(ask('BLM.PUBLISH', 'b', 'seen'), 'OK')
            self.assertEqual(server.program('test', 'seen', keys=b'a\nb\n').stdout, b'b\n')
            self.assertEqual(ask('BF.MEXISTS', 's', 'a', 'b'), [0, 1])
            self.assertIsInstance(ask('BF.ADD', 's', 'more'), Error)
            for words in (['none', 'x'], ['a', 'redis.0.x'], ['a', ''], ['a', 'x', 'SEALED']):
                self.assertIsInstance(ask('BLM.PUBLISH', *words), Error, words)

    def test_the_append_only_file_publishes_nothing_again(self):
        with Server('--appendonly', 'yes') as server:
            with server.client() as ask:
                self.make(ask, 'a', 'b')
                self.assertEqual(ask('BLM.PUBLISH', 'a', 'seen'), 'OK')
                self.assertEqual(ask('BLM.UNION', 'c', 'a', 'b'), 'OK')
            self.assertEqual(server.program('drop', 'seen').returncode, 0)
            server.restart()
            with server.client() as ask:
                self.assertEqual(ask('BF.MEXISTS', 'c', 'a', 'b', 'c'), [1, 1, 0])
            self.assertNotIn('seen', server.names())
