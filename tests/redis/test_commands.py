"""Commands and replies in RESP2 and RESP3, for raw sockets and for redis-py."""
import unittest

from server import Error, Server, until


class Commands(unittest.TestCase):
    protocol = 2

    @classmethod
    def setUpClass(cls):
        cls.server = Server(arguments=[])

    @classmethod
    def tearDownClass(cls):
        cls.server.close()

    def setUp(self):
        self.ask = self.server.client(self.protocol)
        self.ask('FLUSHALL')

    def tearDown(self):
        self.ask.close()

    def yes(self, *answers):
        """Ones and zeros as this protocol has them."""
        return [bool(a) if self.protocol == 3 else a for a in answers]

    def refuses(self, error, *words):
        reply = self.ask(*words)
        self.assertIsInstance(reply, Error, words)
        self.assertIn(error, reply)

    def same(self, reply, wanted):
        """Equal, and of one type: True is not 1 here."""
        self.assertEqual(repr(reply), repr(wanted))

    def fields(self, reply):
        return reply if self.protocol == 3 else dict(zip(reply[::2], reply[1::2]))

    def test_a_new_key_answers_1_and_a_known_0(self):
        self.same([self.ask('BF.ADD', 'f', 'a'), self.ask('BF.ADD', 'f', 'a')], self.yes(1, 0))
        self.same(self.ask('BF.MADD', 'f', 'a', 'b', 'c'), self.yes(0, 1, 1))
        self.same(self.ask('BF.EXISTS', 'f', 'b'), self.yes(1)[0])
        self.same(self.ask('BF.MEXISTS', 'f', 'c', 'd'), self.yes(1, 0))
        self.same(self.ask('BF.CARD', 'f'), 3)

    def test_a_missing_key_holds_nothing(self):
        self.same(self.ask('BF.EXISTS', 'none', 'a'), self.yes(0)[0])
        self.same(self.ask('BF.MEXISTS', 'none', 'a', 'b'), self.yes(0, 0))
        self.same(self.ask('BF.CARD', 'none'), 0)
        self.same(self.ask('CF.EXISTS', 'none', 'a'), self.yes(0)[0])
        self.same(self.ask('CF.COUNT', 'none', 'a'), 0)
        self.refuses('ERR not found', 'BF.INFO', 'none')
        self.refuses('Not found', 'CF.DEL', 'none', 'a')

    def test_reserve_takes_its_options_and_refuses_others(self):
        self.same(self.ask('BF.RESERVE', 'f', '0.001', 1000, 'EXPANSION', 4), 'OK')
        self.refuses('ERR item exists', 'BF.RESERVE', 'f', '0.001', 1000)
        for error, words in (('bad error rate', ['x', 10]), ('must be in the range (0', ['1', 10]), ('bad capacity', ['0.1', 'x']),
                             ('capacity must be in the range', ['0.1', 0]), ('no expansion', ['0.1', 10, 'EXPANSION']),
                             ('bad expansion', ['0.1', 10, 'EXPANSION', 'x']),
                             ('expansion must be in the range', ['0.1', 10, 'EXPANSION', -1]),
                             ('Nonscaling filters cannot expand', ['0.1', 10, 'NONSCALING', 'EXPANSION', 2])):
            self.refuses(error, 'BF.RESERVE', 'g', *words)

    def test_info_of_a_bloom_filter_has_five_fields(self):
        self.ask('BF.RESERVE', 'f', '0.01', 100, 'EXPANSION', 4)
        self.ask('BF.MADD', 'f', *range(150))
        info = self.fields(self.ask('BF.INFO', 'f'))
        self.assertEqual(list(info), ['Capacity', 'Size', 'Number of filters', 'Number of items inserted', 'Expansion rate'])
        self.assertEqual([info['Capacity'], info['Number of filters'], info['Expansion rate']], [500, 2, 4])
        self.assertEqual(info['Number of items inserted'], self.ask('BF.CARD', 'f'))
        one = self.ask('BF.INFO', 'f', 'capacity')
        self.assertEqual(one, {'Capacity': 500} if self.protocol == 3 else [500])
        self.refuses('Invalid information value', 'BF.INFO', 'f', 'colour')

    def test_a_full_nonscaling_filter_ends_the_reply_with_an_error(self):
        self.same(self.ask('BF.INSERT', 'f', 'CAPACITY', 3, 'NONSCALING', 'ITEMS', 'a', 'b', 'c'), self.yes(1, 1, 1))
        reply = self.ask('BF.INSERT', 'f', 'ITEMS', 'a', 'b', 'x', 'y')
        self.same(reply[:2], self.yes(0, 0))
        self.assertEqual(reply[2:], ['ERR non scaling filter is full'])
        self.assertIsInstance(reply[2], Error)
        self.assertIsNone(self.fields(self.ask('BF.INFO', 'f'))['Expansion rate'])

    def test_insert_takes_its_options_and_refuses_others(self):
        self.refuses('ERR not found', 'BF.INSERT', 'f', 'NOCREATE', 'ITEMS', 'a')
        for error, words in (('Bad capacity', ['CAPACITY', 0]), ('Bad error rate', ['ERROR', 1]), ('Bad expansion', ['EXPANSION', -1]),
                             ('Unknown argument', ['COLOUR', 1])):
            self.refuses(error, 'BF.INSERT', 'f', *words, 'ITEMS', 'a')
        self.refuses('wrong number', 'BF.INSERT', 'f', 'ITEMS')
        self.same(self.ask('BF.INSERT', 'f', 'ERROR', '0.001', 'CAPACITY', 50000, 'ITEMS', 'a'), self.yes(1))

    def test_a_key_of_another_type_is_refused(self):
        self.ask('SET', 's', 'x')
        self.ask('CF.ADD', 'c', 'a')
        for words in (['BF.ADD', 's', 'a'], ['BF.ADD', 'c', 'a'], ['CF.ADD', 's', 'a'], ['BF.INFO', 's'], ['BLM.TEST', 's', 'a']):
            self.refuses('WRONGTYPE', *words)
        self.same(self.ask('BF.EXISTS', 's', 'a'), self.yes(0)[0])

    def test_a_cuckoo_filter_counts_and_deletes(self):
        self.same([self.ask('CF.ADD', 'f', 'a'), self.ask('CF.ADD', 'f', 'a'), self.ask('CF.ADDNX', 'f', 'a')], self.yes(1, 1, 0))
        self.same(self.ask('CF.COUNT', 'f', 'a'), 2)
        self.same([self.ask('CF.DEL', 'f', 'a'), self.ask('CF.DEL', 'f', 'a'), self.ask('CF.DEL', 'f', 'a')], self.yes(1, 1, 0))
        self.same(self.ask('CF.INSERT', 'f', 'ITEMS', 'x', 'y'), self.yes(1, 1))
        self.same(self.ask('CF.INSERTNX', 'f', 'CAPACITY', 100, 'ITEMS', 'x', 'z'), [0, 1])
        self.same(self.ask('CF.MEXISTS', 'f', 'x', 'q'), self.yes(1, 0))
        info = self.fields(self.ask('CF.INFO', 'f'))
        self.assertEqual(list(info)[1:], ['Number of buckets', 'Number of filters', 'Number of items inserted',
                                          'Number of items deleted', 'Bucket size', 'Expansion rate', 'Max iterations'])
        self.assertEqual(list(info.values())[1:], [512, 1, 3, 2, 2, 1, 20])
        self.assertEqual(self.ask('CF.COMPACT', 'f'), 'OK')

    def test_a_cuckoo_filter_without_room_says_so(self):
        self.ask('CF.RESERVE', 'f', 4, 'EXPANSION', 0)
        added = self.ask('CF.INSERT', 'f', 'ITEMS', *range(20))
        held = self.fields(self.ask('CF.INFO', 'f'))['Number of items inserted']
        self.assertEqual(sorted(map(int, added), reverse=True), [1] * held + [0 if self.protocol == 3 else -1] * (20 - held))
        self.assertEqual(held, 4)
        self.refuses('Filter is full', 'CF.ADD', 'f', 'a')
        self.ask('CF.RESERVE', 'g', 4, 'BUCKETSIZE', 2)
        self.ask('CF.INSERT', 'g', 'ITEMS', *['a'] * 200)
        self.refuses('Maximum expansions reached', 'CF.ADD', 'g', 'a')
        self.assertEqual(self.fields(self.ask('CF.INFO', 'g'))['Number of filters'], 32)

    def test_a_cuckoo_filter_with_its_last_table_is_closed(self):
        self.ask('CF.RESERVE', 'f', 4)
        added = [self.ask('CF.ADD', 'f', i) for i in range(124)]
        self.same(added, self.yes(*[1] * 124))
        for words in (['CF.ADD', 'f', 'a'], ['CF.ADDNX', 'f', 1], ['CF.INSERT', 'f', 'ITEMS', 'a']):
            self.refuses('Maximum expansions reached', *words)
        self.same(self.ask('CF.DEL', 'f', 1), self.yes(1)[0])
        self.same(self.ask('CF.ADD', 'f', 1), self.yes(1)[0])    # there is room again

    def test_a_cuckoo_filter_grows_and_keeps_its_keys(self):
        self.ask('CF.RESERVE', 'f', 64, 'EXPANSION', 4, 'MAXITERATIONS', 500)
        for i in range(0, 1000, 100):
            self.ask('CF.INSERT', 'f', 'ITEMS', *range(i, i + 100))
        self.same(self.ask('CF.MEXISTS', 'f', *range(1000)), self.yes(*[1] * 1000))
        self.assertGreater(self.fields(self.ask('CF.INFO', 'f'))['Number of filters'], 1)
        for error, words in (('Capacity must be', [1]), ("Couldn't parse EXPANSION", [10, 'EXPANSION', 'x']),
                             ('BUCKETSIZE: value must be', [10, 'BUCKETSIZE', 0]), ('MAXITERATIONS: value must', [10, 'MAXITERATIONS', 0])):
            self.refuses(error, 'CF.RESERVE', 'g', *words)

    def test_chunks_make_the_same_filter(self):
        self.ask('BF.RESERVE', 'BF1', '0.01', 60, 'EXPANSION', 3)
        self.ask('CF.RESERVE', 'CF1', 60, 'EXPANSION', 2)
        for group, words in (('BF', ['BF.MADD', 'BF1']), ('CF', ['CF.INSERT', 'CF1', 'ITEMS'])):
            self.ask(*words, *range(500))
            chunks, at = [], 0
            while True:
                at, data = self.ask(f'{group}.SCANDUMP', f'{group}1', at)
                if not at:
                    break
                chunks.append((at, data))
            self.assertEqual(data, b'' if group == 'BF' else None)
            self.assertGreater(len(chunks), 2)
            self.ask(f'{group}.LOADCHUNK', f'{group}3', *chunks[0])
            whole = b''.join(data for _, data in chunks[1:])
            for error, at, data in (('Too big' if group == 'BF' else "Couldn't load chunk!", len(whole) + 2, whole + b'x'),
                                    ('invalid offset' if group == 'BF' else "Couldn't load chunk!", 100, b'x')):
                self.refuses(error, f'{group}.LOADCHUNK', f'{group}3', at, data)
            for n, chunk in enumerate(chunks):
                self.assertEqual(self.ask(f'{group}.LOADCHUNK', f'{group}2', *chunk), 'OK')
                if n + 1 < len(chunks):
                    self.refuses('chunks of it are missing', f'{group}.EXISTS', f'{group}2', 1)
            self.assertEqual(*self.ask('DEBUG', 'DIGEST-VALUE', f'{group}1', f'{group}2'))
            self.assertEqual(self.ask(f'{group}.INFO', f'{group}1'), self.ask(f'{group}.INFO', f'{group}2'))

    def test_a_filter_of_any_kind_answers_with_a_bitmap(self):
        self.assertEqual(self.ask('BLM.CREATE', 'f', 'CAPACITY', 1000, 'RATE', '0.001', 'KIND', 'split-block'), 'OK')
        self.assertEqual(self.ask('BLM.CLAIM', 'f', *range(10)), b'\xff\x03')
        self.assertEqual(self.ask('BLM.CLAIM', 'f', *range(9, 12)), b'\x06')
        self.assertEqual(self.ask('BLM.ADD', 'f', 0, 'new'), b'\x02')
        self.assertEqual(self.ask('BLM.TEST', 'f', 'new', 'other', 11), b'\x05')
        info = self.fields(self.ask('BLM.INFO', 'f'))
        self.assertEqual([info['kind'], info['keys'], info['owned']], [b'split-block', 13, b'yes'])
        self.same(self.ask('BF.MEXISTS', 'f', 0, 'other'), self.yes(1, 0))
        self.refuses('KIND: the server makes no filters of this kind', 'BLM.CREATE', 'g', 'CAPACITY', 10, 'KIND', 'window')
        self.refuses('needs CAPACITY or CELLS', 'BLM.CREATE', 'g', 'KIND', 'blocked')
        self.refuses('has no store', 'BLM.ATTACH', 'g', 'name')

    @staticmethod
    def mapped(reply):
        """A map, in either protocol."""
        return reply if isinstance(reply, dict) else dict(zip(reply[::2], reply[1::2]))

    def docs(self, command):
        return self.mapped(self.mapped(self.ask('COMMAND', 'DOCS', command))[command.encode()])

    def about(self, command):
        return [self.mapped(argument) for argument in self.docs(command)[b'arguments']]

    def test_the_server_tells_the_arguments_of_commands(self):
        for command, names in (('bf.reserve', 'key error_rate capacity expansion nonscaling'), ('bf.info', 'key single_value'),
                               ('cf.insert', 'key capacity nocreate items item'), ('blm.copy', 'source destination destination-db replace'),
                               ('blm.union', 'key source')):
            self.assertEqual(b' '.join(argument[b'name'] for argument in self.about(command)).decode(), names)
        key, expansion = self.about('bf.reserve')[0], self.about('bf.reserve')[3]
        self.assertEqual([key[b'type'], expansion[b'type'], expansion[b'token']], [b'key', b'integer', b'EXPANSION'])
        self.assertEqual(expansion[b'flags'], ['optional'])
        self.assertEqual(self.about('blm.union')[1][b'flags'], ['multiple'])
        for command, arity in (('bf.add', 3), ('bf.madd', -3), ('bf.insert', -4), ('cf.loadchunk', 4), ('blm.create', -2), ('bf.load', -1)):
            self.assertEqual(self.ask('COMMAND', 'INFO', command)[0][1], arity, command)

    def test_the_server_tells_what_each_command_does(self):
        names = [each[0].decode() for each in self.ask('COMMAND') if each[0].split(b'.')[0] in (b'bf', b'cf', b'blm')]
        self.assertGreater(len(names), 38)
        for name in set(names) - {'bf.load', 'blm.load'}:      # those are for the server's own files
            self.assertRegex(self.docs(name)[b'summary'].decode(), r'^[A-Z].*\.$', name)

    def test_a_transaction_refuses_a_wrong_number_of_arguments(self):
        self.ask('MULTI')
        self.refuses("wrong number of arguments for 'bf.add' command", 'BF.ADD', 'f')
        self.refuses('EXECABORT', 'EXEC')

    def test_keys_of_a_command_are_found(self):
        self.assertEqual(self.ask('COMMAND', 'GETKEYS', 'BLM.UNION', 'a', 'b', 'c'), [b'a', b'b', b'c'])
        self.assertEqual(self.ask('COMMAND', 'GETKEYS', 'BLM.COPY', 'a', 'b', 'REPLACE'), [b'a', b'b'])
        self.assertEqual(self.ask('COMMAND', 'GETKEYS', 'BF.MADD', 'a', 'b', 'c'), [b'a'])

    def test_a_reader_of_keys_may_only_ask(self):
        self.ask('ACL', 'SETUSER', 'asker', 'reset', 'on', 'nopass', '%R~r*', '%W~w*', '+@all')
        for allowed, words in ((True, 'BF.EXISTS r1 a'), (True, 'CF.COUNT r1 a'), (True, 'BLM.DUMP r1'), (False, 'BF.ADD r1 a'),
                               (False, 'BF.EXISTS w1 a'), (True, 'BLM.COPY r1 w1'), (False, 'BLM.COPY w1 r1'), (False, 'BLM.UNION r1 r2')):
            self.assertEqual(self.ask('ACL', 'DRYRUN', 'asker', *words.split()) == 'OK', allowed, words)

    def test_access_lists_know_the_groups_of_commands(self):
        if b'bloom' not in self.ask('ACL', 'CAT'):
            self.skipTest('this server takes no categories of modules: Redis before 7.4')
        self.assertIn(b'bf.add', self.ask('ACL', 'CAT', 'bloom'))
        self.assertNotIn(b'bf.load', self.ask('ACL', 'CAT', 'bloom'))    # RedisBloom has no such command
        self.assertIn(b'bf.load', self.ask('ACL', 'CAT', 'bloomery'))
        self.ask('ACL', 'SETUSER', 'reader', 'on', 'nopass', '~*', '+@read')
        self.assertEqual(self.ask('ACL', 'DRYRUN', 'reader', 'BF.EXISTS', 'f', 'a'), 'OK')
        self.assertNotEqual(self.ask('ACL', 'DRYRUN', 'reader', 'BF.ADD', 'f', 'a'), 'OK')


class CommandsInRESP3(Commands):
    protocol = 3


class Settings(unittest.TestCase):
    @staticmethod
    def setting(ask, pattern):
        """The name that this server gives it (before Redis 8 with bf. before it), and its value."""
        for prefix in ('', 'bf.'):
            reply = ask('CONFIG', 'GET', prefix + pattern)
            if reply:
                return [word.decode() for word in reply]
        raise AssertionError(f'{pattern}: the server has no such setting')

    def test_config_shows_and_sets_the_numbers(self):
        with Server(arguments=['cf-bucket-size', '4']) as server, server.client() as ask:
            for name, value in (('bf-error-rate', '0.01'), ('bf-initial-size', '100'), ('bf-expansion-factor', '2'), ('cf-bucket-size', '4'),
                                ('cf-initial-size', '1024'), ('cf-max-iterations', '20'), ('cf-expansion-factor', '1'),
                                ('cf-max-expansions', '32'), ('blm-bytes-most', '17179869184')):
                self.assertEqual(self.setting(ask, name)[1], value)
            size, rate = self.setting(ask, 'bf-initial-size')[0], self.setting(ask, 'bf-error-rate')[0]
            for name, value in ((size, 0), (size, 1 << 31), (size, 'x'), (rate, 0), (rate, 1), (rate, 'x'), (rate, 'nan')):
                reply = ask('CONFIG', 'SET', name, value)
                self.assertIsInstance(reply, Error)
                self.assertIn('must be in the range', reply)
            self.assertEqual(ask('CONFIG', 'SET', size, 5000, rate, '0.5'), 'OK')
            self.assertEqual([self.setting(ask, 'bf-initial-size')[1], self.setting(ask, 'bf-error-rate')[1]], ['5000', '0.25'])
            ask('BF.ADD', 'f', 'a')
            self.assertEqual(ask('BF.INFO', 'f', 'CAPACITY'), [5000])

    def test_the_configuration_file_sets_the_numbers(self):
        with Server(arguments=[]) as server, server.client() as ask:
            name = self.setting(ask, 'bf-initial-size')[0]
        with Server(f'--{name}', '700', arguments=['bf-initial-size', '7']) as server, server.client() as ask:
            ask('BF.ADD', 'f', 'a')
            self.assertEqual(ask('BF.INFO', 'f', 'CAPACITY'), [700])

    def test_a_lower_limit_of_tables_loses_no_key(self):
        with Server('--appendonly', 'yes', arguments=['cf-max-expansions', '8']) as server, Server(arguments=['cf-max-expansions', '2']) as replica:
            with server.client() as ask, replica.client() as there:
                there('REPLICAOF', '127.0.0.1', server.listen())
                until(lambda: b'master_link_status:up' in there('INFO', 'replication'), 'the replica is connected')
                ask('CF.RESERVE', 'f', 4)
                added = [number for number in range(40) if ask('CF.ADD', 'f', number) == 1]
                self.assertGreater(len(added), 3 * 4)
                self.assertEqual(ask('WAIT', 1, 0), 1)
                self.assertEqual(there('CF.MEXISTS', 'f', *added), [1] * len(added))
            server.arguments = ['cf-max-expansions', '2']
            server.restart(kill=True)
            with server.client() as ask:
                self.assertEqual(ask('CF.MEXISTS', 'f', *added), [1] * len(added))
                self.assertEqual(ask('CF.ADD', 'f', 'a'), 'Maximum expansions reached')

    def test_a_refused_key_is_refused_everywhere(self):
        with Server('--appendonly', 'yes', arguments=['cf-max-expansions', '3']) as server, Server(arguments=['cf-max-expansions', '3']) as replica:
            with server.client() as ask, replica.client() as there:
                there('REPLICAOF', '127.0.0.1', server.listen())
                until(lambda: b'master_link_status:up' in there('INFO', 'replication'), 'the replica is connected')
                replies = {}
                for key in 'f', 'g':
                    ask('CF.RESERVE', key, 4)
                    replies[key] = ask('CF.INSERT', key, 'ITEMS', *range(60))
                    self.assertIn(-1, replies[key])
                ask('CF.DEL', 'g', 0)
                self.assertIn('Maximum expansions reached', [ask('CF.ADD', 'g', number) for number in range(100, 140)])
                known = {key: [ask('CF.INFO', key), ask('CF.MEXISTS', key, *range(200))] for key in replies}
                self.assertEqual(ask('WAIT', 1, 0), 1)
                self.assertEqual({key: [there('CF.INFO', key), there('CF.MEXISTS', key, *range(200))] for key in replies}, known)
            server.restart(kill=True)
            with server.client() as ask:
                self.assertEqual({key: [ask('CF.INFO', key), ask('CF.MEXISTS', key, *range(200))] for key in replies}, known)

    def test_filters_made_after_config_set_survive_a_kill(self):
        with Server('--appendonly', 'yes', arguments=[]) as server:
            with server.client() as ask:
                setting = {name: self.setting(ask, name)[0] for name in ('bf-expansion-factor', 'bf-initial-size', 'cf-initial-size', 'cf-bucket-size')}
                self.assertEqual(ask('CONFIG', 'SET', setting['cf-initial-size'], 100000, setting['cf-bucket-size'], 4,
                                     setting['bf-initial-size'], 300, setting['bf-expansion-factor'], 4), 'OK')
                ask('CF.ADD', 'c', 'a')
                ask('CF.INSERT', 'd', 'ITEMS', 'a', 'b')
                ask('BF.ADD', 'b', 'a')
                ask('BF.INSERT', 'i', 'ERROR', '0.001', 'ITEMS', 'a', 'b')
                known = [ask('CF.INFO', 'c'), ask('CF.INFO', 'd'), ask('BF.INFO', 'b'), ask('BF.INFO', 'i')]
            server.restart(kill=True)
            with server.client() as ask:
                self.assertEqual([ask('CF.INFO', 'c'), ask('CF.INFO', 'd'), ask('BF.INFO', 'b'), ask('BF.INFO', 'i')], known)

    def test_the_arguments_of_redisbloom_are_taken(self):
        with Server(arguments=['ERROR_RATE', '0.3', 'INITIAL_SIZE', '200', 'CF_MAX_EXPANSIONS', '3']) as server, server.client() as ask:
            self.assertEqual([self.setting(ask, name)[1] for name in ('bf-error-rate', 'bf-initial-size', 'cf-max-expansions')],
                             ['0.25', '200', '3'])
        for arguments in (['ERROR_RATE', '1'], ['INITIAL_SIZE', '0'], ['EXPANSIONS', '3']):
            with self.assertRaises(AssertionError):
                Server(arguments=arguments)


class RedisPy(unittest.TestCase):
    def test_redis_py_understands_the_replies(self):
        try:
            import redis
        except ImportError:
            self.skipTest('no redis-py here; install the package python3-redis')
        with Server(arguments=[]) as server:
            client = redis.Redis(unix_socket_path=f'{server.folder}/s')
            bloom, cuckoo = client.bf(), client.cf()
            self.assertTrue(bloom.create('f', 0.01, 1000))
            self.assertEqual([bloom.add('f', 'a'), bloom.add('f', 'a'), bloom.exists('f', 'a')], [1, 0, 1])
            self.assertEqual(bloom.madd('f', 'a', 'b'), [0, 1])
            self.assertEqual(bloom.insert('g', ['x', 'y'], capacity=100, error=0.001), [1, 1])
            info = bloom.info('f')
            self.assertEqual([info.capacity, info.filterNum, info.insertedNum], [1000, 1, 2])
            self.assertTrue(cuckoo.create('c', 1000))
            self.assertEqual([cuckoo.add('c', 'a'), cuckoo.addnx('c', 'a'), cuckoo.count('c', 'a'), cuckoo.delete('c', 'a')], [1, 0, 1, 1])
            self.assertEqual(cuckoo.info('c').deletedNum, 1)
            client.close()
