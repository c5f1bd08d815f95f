"""test_redis.py - a filter at a server, and in the shards of a cluster"""
import importlib.util
import os
import shutil
import sys
import threading
import unittest

import bloomery
from bloomery.redis import SharedFilter, key_bytes

sys.path.insert(0, os.path.join(os.environ['BLOOMERY_SOURCE'], 'tests', 'redis'))
from server import Cluster, Server  # noqa: E402

NEEDS = [program for program in ('redis-server', 'redis-cli') if not shutil.which(program)]
NEEDS += [] if importlib.util.find_spec('redis') else ['python3-redis']
KEYS = int(20000 * max(float(os.environ.get('BLOOMERY_TEST_SCALE', '1').replace('full', '1')), 0.1))


@unittest.skipIf(NEEDS, f'needs {", ".join(NEEDS)}')
class Served(unittest.TestCase):
    def setUp(self):
        import redis
        self.server = Server()
        self.addCleanup(self.server.close)
        self.client = redis.Redis(unix_socket_path=f'{self.server.folder}/s')
        self.addCleanup(self.client.close)

    def made(self, shards=1):
        f = SharedFilter(self.client, 'seen', shards)
        self.assertEqual(f.create(KEYS, 1e-9, kind='blocked'), shards)
        self.assertEqual(f.create(KEYS, 1e-9), 0)
        return f

    def test_a_key_is_claimed_once(self):
        for shards in (1, 7):
            f = self.made(shards)
            self.assertNotIn('page', f)
            self.assertTrue(f.claim('page'))
            self.assertFalse(f.claim(b'page'))
            self.assertIn(bytearray(b'page'), f)
            self.assertEqual(len(f), 1)
            f.sync()
            self.client.flushall()

    def test_many_keys_are_answered_in_their_order(self):
        for shards in (1, 7):
            f = self.made(shards)
            keys = [f'key {i}' for i in range(KEYS)]
            even = f.add_many(keys[::2])
            self.assertEqual((even.yes, len(even)), (KEYS // 2, KEYS // 2))
            there = f.contains_many(keys)
            self.assertEqual([i for i, yes in enumerate(there) if yes], list(range(0, KEYS, 2)))
            self.assertEqual(list(f.claim_many(iter(keys)).select(keys)), keys[1::2])
            self.assertEqual(len(f), KEYS)
            self.assertEqual(list(f.claim_many(['new', 'new', 'newer'])), [True, False, True])
            self.assertEqual(len(f.claim_many([])), 0)
            self.client.flushall()

    def test_local_processes_find_the_keys(self):
        f = self.made()
        f.add_many([12345, 'zwölf'])
        out = self.server.program('test', '-c', 'redis.0.seen', keys='zwölf\n'.encode())
        self.assertEqual(out.stdout, b'1\n')
        local = bloomery.Filter.open('redis.0.seen', 'r', store=bloomery.Store(f'{self.server.folder}/store'))
        self.assertIn(12345, local)
        local.close()

    def test_a_failing_shard_keeps_no_other_shards_answer(self):
        import redis
        f = self.made(4)
        self.client.delete('seen:2')
        keys = [f'key {i}' for i in range(3000)]
        lost = [i for i, key in enumerate(keys) if f.shard_of(key) == 2]
        with self.assertRaises(redis.exceptions.ResponseError) as caught:
            f.claim_many(keys)
        self.assertEqual(caught.exception.undone, lost)
        self.assertEqual([i for i, yes in enumerate(caught.exception.answers) if not yes], lost)
        self.assertEqual(caught.exception.answers.yes, 3000 - len(lost))

    def test_an_invalid_key_is_refused_before_any_is_sent(self):
        f = self.made()
        for wrong in (None, True, 1.5, ('a',), 2**63):
            with self.assertRaises((TypeError, OverflowError)):
                f.add_many(['first', wrong])
        self.assertNotIn('first', f)
        self.assertEqual(key_bytes(-2), b'\xfe' + b'\xff' * 7)

    def test_clients_and_names_that_cannot_work_are_refused(self):
        import redis
        for shards in (0, 16385):
            with self.assertRaisesRegex(ValueError, 'shards'):
                SharedFilter(self.client, 'seen', shards)
        with self.assertRaisesRegex(ValueError, 'one node'):
            SharedFilter(self.client, '{seen}', 2)
        with self.assertRaisesRegex(ValueError, 'decode_responses'):
            SharedFilter(redis.Redis(unix_socket_path=f'{self.server.folder}/s', decode_responses=True), 'seen')

    def test_spiders_share_the_filter_of_a_server(self):
        from scrapy import Request
        from scrapy.exceptions import NotConfigured
        from scrapy.utils.test import get_crawler
        from bloomery.scrapy import RedisDupeFilter
        settings = {'BLOOMERY_REDIS': f'unix://{self.server.folder}/s', 'BLOOMERY_FILTER': 'pages', 'BLOOMERY_CAPACITY': 1000,
                    'REQUEST_FINGERPRINTER_IMPLEMENTATION': '2.7'}
        spiders = [RedisDupeFilter.from_crawler(get_crawler(settings_dict=settings)) for _ in range(2)]
        for spider in spiders:
            spider.open()
        pages = [Request(f'http://localhost/{i}') for i in range(100)]
        self.assertEqual([spider.request_seen(page) for page in pages for spider in spiders], [False, True] * 100)
        spiders[1].log(pages[0], None)
        self.assertEqual(spiders[1].crawler.stats.get_value('dupefilter/filtered'), 1)
        for spider in spiders:
            spider.close('finished')
        self.assertEqual(spiders[0].crawler.stats.get_value('bloomery/pages'), 100)
        with self.assertRaisesRegex(NotConfigured, 'BLOOMERY_LEASE'):
            RedisDupeFilter.from_crawler(get_crawler(settings_dict={**settings, 'BLOOMERY_LEASE': 5}))


@unittest.skipIf(NEEDS, f'needs {", ".join(NEEDS)}')
class InACluster(unittest.TestCase):
    def test_clients_of_a_cluster_claim_each_key_once(self):
        import redis
        cluster = Cluster(3)
        self.addCleanup(cluster.close)
        clients = [redis.cluster.RedisCluster('127.0.0.1', cluster.ports[i]) for i in range(3)]
        shared = [SharedFilter(client, 'seen', 16) for client in clients]
        self.assertEqual(shared[0].create(KEYS, 1e-9), 16)
        self.assertEqual(len({clients[0].keyslot(shared[0].key(i)) for i in range(16)}), 16)
        keys = [f'key {i}' for i in range(KEYS)]
        told = [None] * 3

        def claim(i):
            told[i] = list(shared[i].claim_many(keys).select(keys))

        threads = [threading.Thread(target=claim, args=(i,)) for i in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(sorted(key for each in told for key in each), sorted(keys))
        self.assertEqual(len(shared[0]), KEYS)
        for client in clients:
            client.close()
