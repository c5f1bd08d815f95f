"""test_extension.py - the extension of PostgreSQL: each function by types, rights, transactions, filters that change, many sessions"""
import fcntl
import os
import re
import struct
import threading
import unittest

from cluster import Failure, Session

KEYS = "text('a')", "bytea '\\x61'", '97::bigint'


class Case(unittest.TestCase):
    """Each test has a database session of a superuser, and an empty filter `seen`."""
    cluster = None

    def setUp(self):
        self.bloomery = self.cluster.bloomery
        self.bloomery('create', 'seen', '-n', '1m', '-p', '0.001', '--seed', '1')
        self.ask = self.session()
        self.ask('CREATE EXTENSION IF NOT EXISTS bloomery')

    def tearDown(self):
        for name in self.bloomery('ls').split():
            self.bloomery('drop', name)

    def session(self, *arguments):
        session = Session(self.cluster, *arguments)
        self.addCleanup(session.close)
        return session

    def refused(self, code, says, sql, session=None):
        with self.assertRaisesRegex(Failure, f'(?s)ERROR:  {code}: .*{says}'):
            (session or self.ask)(sql)


class Functions(Case):
    def test_a_key_is_found_once_it_was_added(self):
        for key in KEYS:
            self.assertEqual(self.ask(f"SELECT bloomery_test('seen', {key})"), 'f')
            self.assertEqual(self.ask(f"SELECT bloomery_add('seen', {key})"), 't')
            self.assertEqual(self.ask(f"SELECT bloomery_add('seen', {key})"), 'f')
            self.assertEqual(self.ask(f"SELECT bloomery_test('seen', {key})"), 't')
            self.bloomery('clear', 'seen')

    def test_a_claim_is_new_once(self):
        self.assertEqual(self.ask("SELECT bloomery_claim('seen', 'a')"), 't')
        self.assertEqual(self.ask("SELECT bloomery_claim('seen', bytea 'a')"), 'f')
        self.assertEqual(self.ask("SELECT bloomery_claim('seen', 97)"), 't')
        self.assertEqual(self.ask("SELECT bloomery_count('seen')"), '2')

    def test_keys_are_those_of_the_program(self):
        self.bloomery('add', 'seen', '--hex', keys='3432\nc3a4\n\n00ff\n2a00000000000000\nfeffffffffffffff\n')
        for key in "'42'", "'ä'", "''", "bytea '\\x00ff'", '42', '-2', '42::smallint', "42::text::varchar", "bytea ''":
            self.assertEqual(self.ask(f"SELECT bloomery_test('seen', {key})"), 't', key)
        self.assertEqual(self.ask("SELECT bloomery_test('seen', bytea '\\x2a000000')"), 'f')

    def test_a_text_counts_as_UTF_8_in_Latin_1_databases(self):
        self.bloomery('add', 'seen', '--key', 'ä')
        self.ask("CREATE DATABASE latin ENCODING 'LATIN1' TEMPLATE template0 LOCALE 'C'")
        self.ask('\\connect latin\nCREATE EXTENSION bloomery')
        self.assertEqual(self.ask("SELECT bloomery_test('seen', 'ä'), octet_length('ä'), bloomery_test('seen', 'ö')"), 't|1|f')
        self.bloomery('create', 'größe', '-n', '1k')
        self.assertEqual(self.ask("SELECT name FROM bloomery_ls('gr*') WHERE NOT bloomery_test(name, 'ä')"), 'größe')
        self.ask('\\connect postgres\nDROP DATABASE latin')

    def test_a_long_key_that_is_compressed_is_found(self):
        self.ask("CREATE TEMP TABLE t AS SELECT repeat('ab', 500000) AS x")
        self.assertEqual(self.ask("SELECT bloomery_add('seen', x) FROM t"), 't')
        self.assertEqual(self.bloomery('test', 'seen', '-c', keys='ab' * 500000 + '\n'), '1\n')

    def test_NULL_gives_NULL_and_adds_nothing(self):
        for name in 'test', 'add', 'claim':
            self.assertEqual(self.ask(f"SELECT bloomery_{name}('seen', NULL::text) IS NULL, bloomery_{name}(NULL, 'a') IS NULL"), 't|t')
        self.assertEqual(self.ask("SELECT bloomery_count('seen'), bloomery_count(NULL) IS NULL"), '0|t')

    def test_wrong_types_are_errors(self):
        self.refused('42883', 'does not exist', "SELECT bloomery_test('seen', 1.5)")
        self.refused('42883', 'does not exist', "SELECT bloomery_add('seen', true)")
        self.refused('42622', 'at most 255', "SELECT bloomery_test(repeat('a', 5000), 'a')")

    def test_a_missing_filter_is_an_error_with_its_name(self):
        for call in "test('none', 1)", "add('none', 1)", "claim('none', 1)", "count('none')":
            self.refused('42704', 'none: .*bloomery ls', f'SELECT bloomery_{call}')

    def test_a_kind_that_cannot_add_says_so(self):
        self.bloomery('build', 'fixed', '--kind', 'ribbon', keys='a\nb\n')
        self.assertEqual(self.ask("SELECT bloomery_test('fixed', 'a')"), 't')
        self.refused('(0A000|55000)', 'fixed', "SELECT bloomery_add('fixed', 'c')")

    def test_the_table_is_what_the_program_lists(self):
        self.bloomery('create', 'other', '-n', '1k', '--kind', 'cuckoo')
        self.ask("SELECT bloomery_add('seen', 'a')")
        self.assertEqual(self.ask('SELECT name, kind, keys, capacity, rate, sealed, error FROM bloomery_ls()'),
                         'other|cuckoo|0|1000|0.01|f|\nseen|blocked|1|1000000|0.001|f|')
        self.assertEqual(self.ask("SELECT name FROM bloomery_ls('s*') WHERE now() - created BETWEEN '-1h' AND '1h'"), 'seen')

    def test_a_lost_file_is_a_row_with_an_error(self):
        os.remove(self.bloomery('info', 'seen', '--json').split('"path":"')[1].split('"')[0])
        self.assertEqual(self.ask('SELECT name, capacity, error IS NULL FROM bloomery_ls()'), 'seen|1000000|f')


class Build(Case):
    def test_a_filter_of_all_rows_is_sized_for_them(self):
        self.assertEqual(self.ask("SELECT bloomery_build('b', x::text, 1e-9) FROM generate_series(1, 5000) x"), '5000')
        lines = ''.join(f'{i}\n' for i in range(1, 5001))
        self.assertEqual(self.bloomery('test', 'b', '-c', keys=lines), '5000\n')
        self.assertEqual(self.ask("SELECT capacity, rate FROM bloomery_ls('b')"), '5000|1e-09')

    def test_keys_of_each_type_are_built(self):
        for number, key in enumerate(KEYS):
            self.assertEqual(self.ask(f"SELECT bloomery_build('b{number}', {key})"), '1')
            self.assertEqual(self.ask(f"SELECT bloomery_test('b{number}', {key})"), 't')

    def test_each_group_makes_a_filter(self):
        for plan in 'on', 'off':
            self.ask(f'SET enable_hashagg = {plan}')
            self.assertEqual(self.ask(f"SELECT x % 3, bloomery_build('{plan}' || x % 3, x, 1e-9) FROM generate_series(1, 30) x GROUP BY 1 ORDER BY 1"),
                             '0|10\n1|10\n2|10')
        self.assertEqual(self.bloomery('ls').split(), ['off0', 'off1', 'off2', 'on0', 'on1', 'on2', 'seen'])

    def test_NULL_is_left_out_and_no_row_makes_no_filter(self):
        self.assertEqual(self.ask("SELECT bloomery_build('b', nullif(x, 3), 1e-9) FROM generate_series(1, 10) x"), '9')
        self.assertEqual(self.ask("SELECT bloomery_build('none', 1) IS NULL FROM generate_series(1, 0)"), 't')
        self.assertEqual(self.bloomery('ls').split(), ['b', 'seen'])

    def test_a_statement_that_fails_makes_no_filter(self):
        numbers = 'FROM generate_series(1, 1000) x'
        self.refused('22012', 'zero', f"SELECT bloomery_build('b', 1 / (900 - x)) {numbers}")
        self.refused('22023', 'GROUP BY', f"SELECT bloomery_build('b' || x, x) {numbers}")
        self.refused('22004', 'NULL', "SELECT bloomery_build(NULL, 1)")
        for rate in '0', '1', '-1', "'NaN'", "'inf'":
            self.refused('22023', 'between 0 and 1', f"SELECT bloomery_build('b', 1, {rate})")
        self.refused('42710', 'seen', "SELECT bloomery_build('seen', 1)")
        self.refused('57014', 'timeout', "SET statement_timeout = 50; SELECT bloomery_build('b', pg_sleep(0.01)::text) FROM generate_series(1, 100000)")
        self.ask('RESET statement_timeout')
        self.assertEqual(self.bloomery('ls').split(), ['seen'])


class Rights(Case):
    def setUp(self):
        super().setUp()
        self.ask('DROP ROLE IF EXISTS guest')
        self.ask('CREATE ROLE guest LOGIN')
        self.guest = self.session('guest')

    def test_only_those_who_were_granted_it_change_filters(self):
        self.assertEqual(self.guest("SELECT bloomery_test('seen', 'a'), bloomery_count('seen')"), 'f|0')
        self.assertEqual(self.guest('SELECT name FROM bloomery_ls()'), 'seen')
        for key in KEYS:
            for call in f"add('seen', {key})", f"claim('seen', {key})", f"build('b', {key})", f"build('b', {key}, 0.1)":
                self.refused('42501', 'permission denied', f'SELECT bloomery_{call}', self.guest)
        self.ask('GRANT EXECUTE ON FUNCTION bloomery_claim(text, text) TO guest')
        self.assertEqual(self.guest("SELECT bloomery_claim('seen', 'a')"), 't')
        self.ask('DROP OWNED BY guest')

    def test_only_a_superuser_chooses_the_store_and_allows_paths(self):
        self.guest("SELECT bloomery_count('seen')")
        for setting in "bloomery.store = '/tmp'", 'bloomery.paths = on':
            self.refused('42501', 'permission denied', f'SET {setting}', self.guest)
        self.ask("SELECT bloomery_count('seen')")
        self.refused('22023', 'absolute path', "SET bloomery.store = 'relative'")

    def test_a_setting_older_than_the_extension_is_ignored(self):
        path = f'{self.cluster.folder}/run/evil.blm'
        self.bloomery('create', path, '-n', '1k')
        for setting in "bloomery.store = '/tmp'", 'bloomery.paths = on':
            guest = self.session('guest')
            try:
                guest(f'SET {setting}')
            except Failure:
                pass
            with self.assertRaises(Failure):
                guest(f"SELECT bloomery_test('{path}', 'a')")
            self.assertEqual(guest('SHOW bloomery.store'), self.cluster.store)
            self.assertEqual(guest('SHOW bloomery.paths'), 'off')

    def test_paths_are_refused_until_they_are_allowed(self):
        path = f'{self.cluster.folder}/run/f.blm'
        self.bloomery('create', path, '-n', '1k')
        self.addCleanup(os.remove, path)
        for name in 'test', 'add', 'claim', 'build':
            self.refused('42501', 'bloomery.paths', f"SELECT bloomery_{name}('{path}', 'a')")
        self.ask('SET bloomery.paths = on')
        self.assertEqual(self.ask(f"SELECT bloomery_add('{path}', 'a')"), 't')
        self.ask('RESET bloomery.paths')
        self.refused('42501', 'bloomery.paths', f"SELECT bloomery_test('{path}', 'a')")

    def test_the_steps_of_the_manual_work(self):
        with open(f'{self.cluster.source}/tools/man/bloomery-sql.7', encoding='utf-8') as manual:
            steps = re.search('^CREATE EXTENSION.*?(?=^[.]Ed)', manual.read(), re.M | re.S)[0]
        self.assertEqual(steps.count(';'), 4)
        self.ask('DROP EXTENSION bloomery; CREATE ROLE crawler LOGIN')
        new = self.session()
        for step in steps.replace('/var/lib/postgresql/filters', self.cluster.store).split(';'):
            new(step)
        self.assertEqual(self.session('crawler')("SELECT bloomery_claim('seen', 'a')"), 't')
        self.session()("LOAD 'bloomery'; ALTER SYSTEM RESET bloomery.store")
        self.ask('DROP OWNED BY crawler; DROP ROLE crawler')

    def test_a_superuser_changes_the_store(self):
        self.ask("SELECT bloomery_add('seen', 'a')")
        self.ask(f"SET bloomery.store = '{self.cluster.folder}/run/other'")
        self.refused('42704', 'there is no store', "SELECT bloomery_test('seen', 'a')")
        self.assertEqual(self.ask("SELECT bloomery_build('seen', 'b')"), '1')
        self.assertEqual(self.ask("SELECT bloomery_test('seen', 'a'), bloomery_test('seen', 'b')"), 'f|t')
        self.ask("SET bloomery.store = ''")
        self.refused('55000', 'bloomery.store is not set', "SELECT bloomery_test('seen', 'a')")
        self.ask('RESET bloomery.store')
        self.assertEqual(self.ask("SELECT bloomery_test('seen', 'a')"), 't')


class Transactions(Case):
    def test_a_rollback_keeps_what_was_added(self):
        self.ask("BEGIN; SELECT bloomery_add('seen', 'a'); ROLLBACK")
        self.assertEqual(self.ask("SELECT bloomery_test('seen', 'a')"), 't')

    def test_a_transaction_that_only_reads_adds_nothing(self):
        for name in 'add', 'claim', 'build':
            self.refused('25006', f'bloomery_{name}', f"BEGIN READ ONLY; SELECT bloomery_{name}('seen', 'a')")
            self.ask('ROLLBACK')
        self.assertEqual(self.ask("BEGIN READ ONLY; SELECT bloomery_test('seen', 'a'); COMMIT"), 'f')

    def test_a_parallel_query_tests(self):
        self.ask("CREATE TABLE many AS SELECT x::text FROM generate_series(1, 20000) x; ALTER TABLE many SET (parallel_workers = 2)")
        self.bloomery('add', 'seen', keys=''.join(f'{i}\n' for i in range(0, 20000, 10)))
        self.ask('SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0; SET min_parallel_table_scan_size = 0')
        query = "SELECT count(*) FROM many WHERE bloomery_test('seen', x)"
        self.assertIn('Workers Launched', self.ask(f'EXPLAIN (ANALYZE) {query}'))
        self.assertEqual(self.ask(query), '1999')
        self.assertNotIn('Workers', self.ask("EXPLAIN (ANALYZE) SELECT count(*) FROM many WHERE bloomery_claim('seen', x)"))
        self.ask('DROP TABLE many')

    def test_functions_are_as_declared(self):
        rows = self.ask("SELECT proname, provolatile, proparallel, proisstrict FROM pg_proc WHERE proname IN "
                        "('bloomery_test', 'bloomery_add', 'bloomery_claim', 'bloomery_count') GROUP BY 1, 2, 3, 4 ORDER BY 1").split('\n')
        self.assertEqual(rows, ['bloomery_add|v|u|t', 'bloomery_claim|v|u|t', 'bloomery_count|s|s|t', 'bloomery_test|s|s|t'])

    def test_the_extension_is_dropped_and_made_again(self):
        self.ask('DROP EXTENSION bloomery; CREATE EXTENSION bloomery')
        self.assertEqual(self.ask("SELECT bloomery_test('seen', 'a')"), 'f')


class Filters(Case):
    def test_a_dropped_filter_is_missing_in_the_next_statement(self):
        calls = "test('seen', 'a')", "add('seen', 'a')", "count('seen')"
        for call in calls:
            self.ask(f'SELECT bloomery_{call}')
        self.bloomery('drop', 'seen')
        for call in calls:
            self.refused('42704', 'seen: ', f'SELECT bloomery_{call}')

    def test_another_filter_under_the_name_is_used(self):
        self.ask("SELECT bloomery_add('seen', 'a'), bloomery_test('seen', 'a')")
        self.bloomery('mv', 'seen', 'old')
        self.bloomery('create', 'seen', '-n', '1k')
        self.assertEqual(self.ask("SELECT bloomery_test('seen', 'a'), bloomery_test('old', 'a'), bloomery_add('seen', 'b')"), 'f|t|t')
        self.bloomery('build', 'next', keys='c\n')
        self.bloomery('publish', 'next', 'seen')
        self.assertEqual(self.ask("SELECT bloomery_test('seen', 'c')"), 't')

    def test_a_truncated_file_is_an_error_for_one_query(self):
        self.ask("SELECT bloomery_test('seen', 'a')")
        path = self.bloomery('info', 'seen', '--json').split('"path":"')[1].split('"')[0]
        os.truncate(path, 4096 * 8)
        self.assertEqual(self.ask("SELECT count(bloomery_test('seen', x)) FROM generate_series(1, 1000) x"), '1000')
        self.refused('58030', 'truncated|cut', "SELECT bloomery_test('seen', 'a')")

    def test_a_damaged_header_is_an_error(self):
        path = self.bloomery('info', 'seen', '--json').split('"path":"')[1].split('"')[0]
        with open(path, 'r+b') as file:
            file.seek(64)
            file.write(b'\xff' * 64)
        self.refused('XX001', 'blm', "SELECT bloomery_test('seen', 'a')")

    def test_a_wait_for_a_lock_is_cancelled(self):
        self.bloomery('create', 'moving', '-n', '1k', '--kind', 'cuckoo')
        self.assertEqual(self.ask("SELECT bloomery_add('moving', 'a')"), 't')
        path = self.bloomery('info', 'moving', '--json').split('"path":"')[1].split('"')[0]
        with open(path, 'r+b') as file:    # the lock WRITE of format-spec.md, by F_OFD_SETLK
            fcntl.fcntl(file, 37, struct.pack('hhqqi4x', fcntl.F_WRLCK, os.SEEK_SET, 2**62 + 4, 1, 0))
            self.refused('57014', 'timeout', "SET statement_timeout = 200; SELECT bloomery_add('moving', 'b')")
        self.ask('RESET statement_timeout')
        self.assertEqual(self.ask("SELECT bloomery_add('moving', 'b')"), 't')

    def test_two_sessions_claim_each_key_exactly_once(self):
        wins = []

        def claim(order):
            session = Session(self.cluster)
            wins.append(int(session("SELECT count(*) FROM (SELECT x FROM generate_series(1, 20000) x "
                                    f"ORDER BY x {order} OFFSET 0) s WHERE bloomery_claim('seen', x)")))
            session.close()
        threads = [threading.Thread(target=claim, args=(order,)) for order in ('ASC', 'DESC')]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(sum(wins), 20000)
        self.assertEqual(self.ask("SELECT bloomery_count('seen')"), '20000')
