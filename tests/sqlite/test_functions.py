"""test_functions.py - each function of the extension, by types of arguments, and where SQLite lets it be called"""
import os

from database import NUMBERS, Case


class Functions(Case):
    def test_a_key_is_found_once_it_was_added(self):
        self.assertEqual(self.ask("SELECT bloomery_test('seen', 'a')"), 0)
        self.assertEqual(self.ask("SELECT bloomery_add('seen', 'a')"), 1)
        self.assertEqual(self.ask("SELECT bloomery_add('seen', 'a')"), 0)
        self.assertEqual(self.ask("SELECT bloomery_test('seen', 'a')"), 1)

    def test_a_claim_is_new_once(self):
        self.assertEqual(self.ask("SELECT bloomery_claim('seen', 'a')"), 1)
        self.assertEqual(self.ask("SELECT bloomery_claim('seen', 'a')"), 0)
        self.assertEqual(self.ask("SELECT bloomery_count('seen')"), 1)

    def test_the_keys_of_lines_are_texts(self):
        self.bloomery('add', 'seen', keys='42\nä\n\n')
        self.assertEqual(self.db.execute("SELECT bloomery_test('seen', '42'), bloomery_test('seen', 'ä'), bloomery_test('seen', ''), "
                                         "bloomery_test('seen', CAST(42 AS TEXT)), bloomery_test('seen', 42)").fetchone(), (1, 1, 1, 1, 0))

    def test_a_blob_is_its_bytes(self):
        self.bloomery('add', 'seen', '--hex', keys='00ff0a\n\n')
        self.assertEqual(self.ask("SELECT bloomery_test('seen', x'00ff0a')"), 1)
        self.assertEqual(self.ask("SELECT bloomery_test('seen', x'')"), 1)
        self.assertEqual(self.ask("SELECT bloomery_add('seen', zeroblob(3))"), 1)
        self.assertEqual(self.bloomery('test', 'seen', '--hex', keys='000000\n00ff\n'), '000000\n')

    def test_a_text_counts_as_UTF_8_in_UTF_16_databases(self):
        self.db.execute("PRAGMA encoding = 'UTF-16le'")
        self.db.execute('CREATE TABLE t(x TEXT)')
        self.db.execute("INSERT INTO t VALUES ('ä\N{SNOWMAN}')")
        self.assertEqual(self.ask('PRAGMA encoding'), 'UTF-16le')
        self.assertEqual(self.ask("SELECT bloomery_add('seen', x) FROM t"), 1)
        self.assertEqual(self.bloomery('test', 'seen', keys='ä\N{SNOWMAN}\n'), 'ä\N{SNOWMAN}\n')

    def test_a_text_with_a_NUL_byte_is_a_key(self):
        self.assertEqual(self.ask("SELECT bloomery_add('seen', 'a' || char(0) || 'b')"), 1)
        self.assertEqual(self.bloomery('test', 'seen', '--hex', keys='610062\n61\n'), '610062\n')

    def test_an_integer_is_8_bytes_little_endian(self):
        for number, digits in ((42, '2a00000000000000'), (-2, 'feffffffffffffff'), (2**63 - 1, 'ffffffffffffff7f')):
            self.assertEqual(self.ask("SELECT bloomery_add('seen', ?)", number), 1)
            self.assertEqual(self.bloomery('test', 'seen', '--hex', '--key', digits), digits + '\n')
        self.assertEqual(self.bloomery('test', 'seen', '--hex', '--key', '2a000000'), '')

    def test_keys_are_those_of_the_package_of_Python(self):
        try:
            import bloomery
        except ImportError:
            self.skipTest('the package of Python is not built')
        path = self.bloomery('info', 'seen', '--json').split('"path":"')[1].split('"')[0]
        keys = 'ä', '', b'\0\xff', 0, 42, -2, 2**63 - 1, -2**63
        with bloomery.Filter.open(path) as seen:
            for key in keys[:4]:
                seen.add(key)
            for key in keys[4:]:
                self.ask("SELECT bloomery_add('seen', ?)", key)
            for key in keys:
                self.assertEqual((self.ask("SELECT bloomery_test('seen', ?)", key), key in seen), (1, True), key)

    def test_NULL_gives_NULL_and_adds_nothing(self):
        for name in 'test', 'add', 'claim':
            self.assertIsNone(self.ask(f"SELECT bloomery_{name}('seen', NULL)"))
            self.assertIsNone(self.ask(f"SELECT bloomery_{name}(NULL, 'a')"))
        self.assertIsNone(self.ask('SELECT bloomery_count(NULL)'))
        self.assertEqual(self.ask("SELECT bloomery_count('seen')"), 0)

    def test_wrong_types_are_errors(self):
        for name in 'test', 'add', 'claim':
            self.refused('text, a blob or an integer', f"SELECT bloomery_{name}('seen', 1.5)")
            self.refused('must be a text: the name of a filter', f"SELECT bloomery_{name}(1, 'a')")
            self.refused('NUL', f"SELECT bloomery_{name}('seen' || char(0), 'a')")
        self.refused('must be a text: the name of a filter', "SELECT bloomery_count(x'00')")
        self.refused('1 or 0', "SELECT bloomery_paths('on')")
        self.refused('a folder', 'SELECT bloomery_store(1)')
        self.assertEqual(self.ask("SELECT bloomery_count('seen')"), 0)

    def test_a_kind_that_cannot_add_says_so(self):
        self.bloomery('build', 'fixed', '--kind', 'ribbon', keys='a\nb\n')
        self.assertEqual(self.ask("SELECT bloomery_test('fixed', 'a')"), 1)
        for name in 'add', 'claim':
            self.refused('fixed.*(ribbon|sealed)', f"SELECT bloomery_{name}('fixed', 'c')")

    def test_a_missing_filter_is_an_error_with_its_name(self):
        for call in "test('none', 1)", "add('none', 1)", "claim('none', 1)", "count('none')":
            self.refused('^none: .*bloomery ls', f'SELECT bloomery_{call}')

    def test_a_store_that_is_missing_is_an_error(self):
        os.environ['BLOOMERY_STORE'] = f'{self.folder}/nowhere'
        db = self.connect()
        self.refused('nowhere: there is no store; .*bloomery_store', "SELECT bloomery_test('seen', 1)", db=db)
        self.refused('nowhere: there is no store', 'SELECT * FROM bloomery_ls', db=db)
        self.assertFalse(os.path.exists(f'{self.folder}/nowhere'))

    def test_a_connection_chooses_its_store(self):
        other = f'{self.folder}/other'
        self.bloomery('create', '--store', other, 'seen', '-n', '1k')
        self.ask("SELECT bloomery_add('seen', 'a')")
        self.assertEqual(self.ask('SELECT bloomery_store()'), self.store)
        self.assertEqual(self.ask('SELECT bloomery_store(?)', other), other)
        self.assertEqual(self.ask("SELECT bloomery_test('seen', 'a')"), 0)
        self.assertEqual(self.ask("SELECT bloomery_test('seen', 'a')", db=self.connect()), 1)
        self.assertIsNone(self.ask('SELECT bloomery_store(NULL)'))
        self.assertEqual(self.ask("SELECT bloomery_test('seen', 'a')"), 1)

    def test_paths_are_refused_until_they_are_allowed(self):
        path = f'{self.folder}/f.blm'
        self.bloomery('create', path, '-n', '1k')
        for name in 'test', 'add', 'claim':
            self.refused('bloomery_paths', f"SELECT bloomery_{name}(?, 'a')", path)
        self.assertEqual(self.ask('SELECT bloomery_paths(1)'), 1)
        self.assertEqual(self.ask("SELECT bloomery_add(?, 'a')", path), 1)
        self.assertEqual(self.bloomery('test', path, '--key', 'a'), 'a\n')
        self.assertEqual(self.ask('SELECT bloomery_paths(0)'), 0)
        self.refused('bloomery_paths', "SELECT bloomery_test(?, 'a')", path)

    def test_an_error_names_what_a_query_cannot_allow(self):
        path = self.bloomery('info', 'seen', '--json').split('"path":"')[1].split('"')[0]
        os.chmod(path, 0o666)
        for name in 'test', 'add':
            self.refused('^seen .*666.*which queries cannot: only the program, with --anyone', f"SELECT bloomery_{name}('seen', 'a')")

    def test_an_error_of_one_call_is_forgotten_next(self):
        self.refused('bloomery_paths', "SELECT bloomery_test('./x', 'a')")
        self.refused('^none: ', "SELECT bloomery_test('none', 'a')")


class Places(Case):
    """Where SQLite lets a function be called."""

    def test_views_and_triggers_change_no_filter(self):
        self.db.execute('CREATE TABLE t(x TEXT)')
        for name in 'add', 'claim', 'build':
            self.db.execute(f"CREATE VIEW v_{name} AS SELECT bloomery_{name}('seen', 'a')")
            self.refused(f'unsafe use of bloomery_{name}', f'SELECT * FROM v_{name}')
            self.db.execute(f"CREATE TRIGGER t_{name} AFTER INSERT ON t BEGIN SELECT bloomery_{name}('seen', new.x); END")
            self.refused(f'unsafe use of bloomery_{name}', "INSERT INTO t VALUES ('a') RETURNING x")
            self.db.execute(f'DROP TRIGGER t_{name}')
        for call in 'bloomery_store()', "bloomery_store('/tmp')", 'bloomery_paths(1)', "bloomery_publish('seen', 'b', 0)":
            self.db.execute('DROP VIEW IF EXISTS v')
            self.db.execute(f'CREATE VIEW v AS SELECT {call}')
            self.refused('unsafe use', 'SELECT * FROM v')
        self.assertEqual(self.ask("SELECT bloomery_count('seen')"), 0)

    def test_a_view_and_a_trigger_test(self):
        self.db.execute('PRAGMA trusted_schema = OFF')
        self.db.execute("CREATE TABLE t(x TEXT CHECK (NOT bloomery_test('seen', x)))")
        self.db.execute("CREATE VIEW v AS SELECT bloomery_test('seen', 'a')")
        self.assertEqual(self.ask('SELECT * FROM v'), 0)
        self.db.execute("INSERT INTO t VALUES ('a')")
        self.ask("SELECT bloomery_add('seen', 'a')")
        self.assertEqual(self.ask('SELECT * FROM v'), 1)
        self.refused('CHECK constraint', "INSERT INTO t VALUES ('a') RETURNING x")
        self.db.execute("CREATE VIEW w AS SELECT bloomery_count('seen')")
        self.refused('unsafe use', 'SELECT * FROM w')

    def test_a_rollback_keeps_what_was_added(self):
        self.db.execute('CREATE TABLE t(x TEXT)')
        self.db.execute('BEGIN')
        self.db.execute("INSERT INTO t SELECT 'a' WHERE bloomery_claim('seen', 'a')")
        self.db.execute('ROLLBACK')
        self.assertEqual(self.ask('SELECT count(*) FROM t'), 0)
        self.assertEqual(self.ask("SELECT bloomery_test('seen', 'a')"), 1)

    def test_a_claim_picks_the_new_rows(self):
        self.db.execute('CREATE TABLE t(x TEXT)')
        self.db.executemany('INSERT INTO t VALUES (?)', [(str(i % 100),) for i in range(300)])
        new = self.db.execute("SELECT x FROM t WHERE bloomery_claim('seen', x)").fetchall()
        self.assertEqual(sorted(x for x, in new), sorted(map(str, range(100))))

    def test_a_join_asks_the_filter_first_without_loss(self):
        self.db.execute('CREATE TABLE a(x TEXT)')
        self.db.execute('CREATE TABLE b(x TEXT PRIMARY KEY)')
        self.db.execute(NUMBERS.format(3000) + 'INSERT INTO a SELECT x FROM numbers')
        self.db.execute(NUMBERS.format(3000) + 'INSERT INTO b SELECT x * 100 FROM numbers')
        self.assertGreater(self.ask("SELECT bloomery_build('b', x, 0.01) FROM b"), 2900)
        self.assertEqual(self.ask("SELECT count(*) FROM a CROSS JOIN b ON a.x = b.x WHERE bloomery_test('b', a.x)"), 30)


class Listing(Case):
    def test_the_table_is_what_the_program_lists(self):
        self.bloomery('create', 'other', '-n', '1k', '--kind', 'cuckoo')
        self.ask("SELECT bloomery_add('seen', 'a')")
        rows = self.db.execute('SELECT name, kind, keys, capacity, rate, sealed, error FROM bloomery_ls').fetchall()
        self.assertEqual(rows[1], ('seen', 'blocked', 1, 1000000, 0.001, 0, None))
        self.assertEqual(rows[0][:2], ('other', 'cuckoo'))
        self.assertEqual([name for name, *_ in rows], self.bloomery('ls').split())
        self.assertGreater(self.ask("SELECT bytes FROM bloomery_ls WHERE name = 'seen'"), 1000000)
        self.assertEqual(self.ask("SELECT abs(created - strftime('%s', 'now')) < 3600 FROM bloomery_ls"), 1)

    def test_the_table_takes_a_pattern(self):
        for name in 'crawl.1', 'crawl.2':
            self.bloomery('create', name, '-n', '1k')
        self.assertEqual(self.db.execute("SELECT name FROM bloomery_ls('crawl.*')").fetchall(), [('crawl.1',), ('crawl.2',)])
        self.assertEqual(self.db.execute('SELECT name FROM bloomery_ls(NULL)').fetchall(), [])
        self.assertEqual(self.db.execute("SELECT l.name FROM (SELECT 'crawl.2' AS p) JOIN bloomery_ls(p) AS l").fetchall(), [('crawl.2',)])

    def test_the_table_and_a_test_of_each_filter(self):
        self.bloomery('create', 'other', '-n', '1k')
        self.ask("SELECT bloomery_add('other', 'a')")
        self.assertEqual(self.db.execute("SELECT name FROM bloomery_ls WHERE bloomery_test(name, 'a')").fetchall(), [('other',)])

    def test_a_lost_file_is_a_row_with_an_error(self):
        self.bloomery('create', 'other', '-n', '1k')
        path = self.bloomery('info', 'other', '--json').split('"path":"')[1].split('"')[0]
        os.remove(path)
        rows = self.db.execute('SELECT name, capacity, error IS NULL FROM bloomery_ls').fetchall()
        self.assertEqual(rows, [('other', 1000, 0), ('seen', 1000000, 1)])
