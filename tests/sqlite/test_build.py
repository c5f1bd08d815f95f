"""test_build.py - bloomery_build(): all keys of a group, in a filter that appears whole or not at all"""
import os
import resource
import sqlite3

from database import NUMBERS, Case


class Build(Case):
    def names(self):
        return self.bloomery('ls').split()

    def test_a_filter_of_all_rows_is_sized_for_them(self):
        self.assertEqual(self.ask(NUMBERS.format(5000) + "SELECT bloomery_build('b', CAST(x AS TEXT), 1e-9) FROM numbers"), 5000)
        lines = ''.join(f'{i}\n' for i in range(1, 5001))
        self.assertEqual(self.bloomery('test', 'b', '-c', keys=lines), '5000\n')
        self.assertEqual(self.db.execute("SELECT kind, capacity, rate FROM bloomery_ls('b')").fetchone(), ('blocked', 5000, 1e-9))
        self.assertEqual(self.ask("SELECT bloomery_add('b', 'later')"), 1)

    def test_the_rate_is_1_percent_if_none_is_given(self):
        self.ask("SELECT bloomery_build('b', 'a'), bloomery_build('c', 'a', NULL)")
        self.assertEqual(self.db.execute("SELECT rate FROM bloomery_ls WHERE name < 'd'").fetchall(), [(0.01,), (0.01,)])

    def test_equal_keys_count_once(self):
        self.assertEqual(self.ask(NUMBERS.format(3000) + "SELECT bloomery_build('b', x % 10, 1e-9) FROM numbers"), 10)

    def test_NULL_is_left_out(self):
        self.assertEqual(self.ask(NUMBERS.format(10) + "SELECT bloomery_build('b', nullif(x, 3), 1e-9) FROM numbers"), 9)
        self.assertEqual(self.ask("SELECT bloomery_build('none', NULL)"), 0)
        self.assertIn('none', self.names())

    def test_no_row_makes_no_filter(self):
        self.assertIsNone(self.ask("SELECT bloomery_build('b', 'a') FROM (SELECT 1) WHERE 0"))
        self.assertEqual(self.names(), ['seen'])

    def test_each_group_makes_a_filter(self):
        rows = self.db.execute(NUMBERS.format(30) + "SELECT x % 3, bloomery_build('b' || (x % 3), x, 1e-9) FROM numbers GROUP BY 1").fetchall()
        self.assertEqual(rows, [(0, 10), (1, 10), (2, 10)])
        self.assertEqual(self.names(), ['b0', 'b1', 'b2', 'seen'])
        self.assertEqual(self.ask("SELECT sum(bloomery_test('b1', x)) FROM (SELECT 1 AS x UNION SELECT 4 UNION SELECT 28)"), 3)

    def test_keys_of_all_lengths_are_found(self):
        self.db.execute('CREATE TABLE t(x)')
        keys = [b'', b'\0', 'a' * 32768, 'a' * 32769, 'b' * 300000, 'c' * 20000, 'd' * 20000, 7]
        self.db.executemany('INSERT INTO t VALUES (?)', [(key,) for key in keys])
        self.assertEqual(self.ask("SELECT bloomery_build('b', x, 1e-9) FROM t"), len(keys))
        self.assertEqual(self.ask("SELECT sum(bloomery_test('b', x)) FROM t"), len(keys))

    def test_a_name_that_is_taken_is_refused_and_kept(self):
        self.ask("SELECT bloomery_add('seen', 'a')")
        self.refused('^seen.*exists.*--force of the command build', "SELECT bloomery_build('seen', 'b')")
        self.assertEqual(self.ask("SELECT bloomery_test('seen', 'a')"), 1)

    def test_wrong_arguments_make_no_filter(self):
        numbers = NUMBERS.format(1000)
        self.refused('not a real', numbers + "SELECT bloomery_build('b', CASE x WHEN 900 THEN 1.5 ELSE x END) FROM numbers")
        self.refused('use GROUP BY', numbers + "SELECT bloomery_build('b' || x, x) FROM numbers")
        self.refused('not NULL', "SELECT bloomery_build(NULL, 'a')")
        self.refused('a text', "SELECT bloomery_build(1, 'a')")
        for rate in '0', '1', '0.0', '1.0', "'0.1'", '-0.5', '9e999':
            self.refused('between 0 and 1', f"SELECT bloomery_build('b', 'a', {rate})")
        self.refused('bloomery_paths', "SELECT bloomery_build('./b', 'a')")
        self.refused('name', "SELECT bloomery_build('', 'a')")
        self.refused('wrong number of arguments', "SELECT bloomery_build('b')")
        self.refused('window function', "SELECT bloomery_build('b', 1) OVER ()")
        self.assertEqual(self.names(), ['seen'])

    def test_a_path_is_built_where_paths_are_allowed(self):
        path = f'{self.folder}/b.blm'
        self.ask('SELECT bloomery_paths(1)')
        self.assertEqual(self.ask('SELECT bloomery_build(?, 7)', path), 1)
        self.assertEqual(self.bloomery('test', path, '--hex', '--key', '0700000000000000'), '0700000000000000\n')

    def test_an_interrupted_statement_makes_no_filter(self):
        def stop(x):
            if x == 900:
                self.db.interrupt()
            return x
        self.db.create_function('stop', 1, stop)
        with self.assertRaisesRegex(sqlite3.OperationalError, 'interrupted'):
            self.ask(NUMBERS.format(1000) + "SELECT bloomery_build('b', stop(x)) FROM numbers")
        self.assertEqual(self.names(), ['seen'])

    def test_a_statement_ended_by_a_handler_makes_no_filter(self):
        calls = []

        def end():
            calls.append(1)
            return len(calls) > 20
        self.db.set_progress_handler(end, 1000)
        with self.assertRaisesRegex(sqlite3.OperationalError, 'interrupted'):
            self.ask(NUMBERS.format(10000) + "SELECT bloomery_build('b', x) FROM numbers")
        self.db.set_progress_handler(None, 0)
        self.assertEqual(self.names(), ['seen'])

    def test_a_published_filter_replaces_another(self):
        publish = "SELECT bloomery_publish('new', 'seen', bloomery_build('new', x, 1e-9))"
        self.ask("SELECT bloomery_add('seen', 'old')")
        self.assertEqual(self.ask("SELECT bloomery_test('seen', 'old')"), 1)
        self.assertEqual(self.ask(NUMBERS.format(1000) + publish + ' FROM numbers'), 1000)
        self.assertEqual(self.ask(NUMBERS.format(1000) + "SELECT sum(bloomery_test('seen', x)) FROM numbers"), 1000)
        self.assertEqual(self.ask("SELECT bloomery_test('seen', 'old')"), 0)
        self.refused('sealed', "SELECT bloomery_add('seen', 'a')")
        self.assertEqual(self.names(), ['new', 'seen'])
        rows = self.db.execute(NUMBERS.format(30) + "SELECT bloomery_publish('new' || (x % 3), 'b' || (x % 3), bloomery_build('new' || (x % 3), x, 1e-9)) "
                               'FROM numbers GROUP BY x % 3').fetchall()
        self.assertEqual(rows, [(10,)] * 3)
        self.assertEqual(self.ask("SELECT sum(bloomery_test('b' || (x % 3), x)) FROM (SELECT 1 AS x UNION SELECT 5 UNION SELECT 30)"), 3)

    def test_a_statement_that_fails_publishes_nothing(self):
        publish = "SELECT bloomery_publish('new', 'seen', bloomery_build('new', json_extract(x, '$'))) FROM (SELECT {} AS x FROM numbers)"
        self.ask("SELECT bloomery_add('seen', 'old')")
        for row in 1, 900, 1000:
            self.refused('malformed JSON', NUMBERS.format(1000) + publish.format(f"CASE x WHEN {row} THEN '[' ELSE x END"))
            if 'new' in self.names():    # SQLite does not tell an aggregate that its statement failed
                self.refused('^new.*exists', NUMBERS.format(1000) + publish.format('x'))
                self.assertIsNone(self.ask(NUMBERS.format(1000) + publish.format('x') + ' WHERE x < 0'))
                self.bloomery('drop', 'new')
        self.assertEqual(self.ask("SELECT bloomery_test('seen', 'old')"), 1)
        self.assertEqual(self.ask("SELECT bloomery_count('seen')"), 1)

    def test_only_what_was_built_is_published(self):
        self.ask("SELECT bloomery_build('new', 'a')")
        self.refused('does not have the number of keys', "SELECT bloomery_publish('new', 'seen', 2)")
        self.refused('bloomery_build', "SELECT bloomery_publish('new', 'seen', '1')")
        self.refused('in the store', "SELECT bloomery_publish('new', './seen', 1)")
        self.refused('a text', "SELECT bloomery_publish(1, 'seen', 1)")
        self.refused('^none: ', "SELECT bloomery_publish('none', 'seen', 1)")
        self.assertIsNone(self.ask("SELECT bloomery_publish('new', 'seen', NULL)"))
        self.assertIsNone(self.ask("SELECT bloomery_publish('new', NULL, 1)"))
        self.assertIsNone(self.ask("SELECT bloomery_publish(NULL, 'seen', 1)"))
        self.assertEqual(self.ask("SELECT bloomery_test('seen', 'a')"), 0)
        self.assertEqual(self.ask("SELECT bloomery_publish('new', 'made', 1)"), 1)
        self.assertEqual(self.ask("SELECT bloomery_test('made', 'a')"), 1)

    def test_a_full_disk_makes_no_filter(self):
        limits = resource.getrlimit(resource.RLIMIT_FSIZE)
        self.addCleanup(resource.setrlimit, resource.RLIMIT_FSIZE, limits)
        resource.setrlimit(resource.RLIMIT_FSIZE, (65536, limits[1]))
        self.refused('^b .*allows no file of', NUMBERS.format(100000) + "SELECT bloomery_build('b', x) FROM numbers")
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        self.assertEqual(self.names(), ['seen'])
        self.assertEqual(self.ask("SELECT bloomery_build('b', 'a')"), 1)

    def test_a_store_is_made_where_there_is_none(self):
        os.environ['BLOOMERY_STORE'] = f'{self.folder}/new'
        db = self.connect()
        self.assertEqual(self.ask("SELECT bloomery_build('b', 'a')", db=db), 1)
        self.assertEqual(self.ask("SELECT bloomery_test('b', 'a')", db=db), 1)

    def test_a_rollback_keeps_the_filter(self):
        self.db.execute('BEGIN')
        self.ask("SELECT bloomery_build('b', 'a')")
        self.db.execute('ROLLBACK')
        self.assertEqual(self.ask("SELECT bloomery_test('b', 'a')"), 1)
