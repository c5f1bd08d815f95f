"""test_filters.py - filters that are dropped, renamed, replaced or damaged under a connection; many connections"""
import os
import sqlite3
import subprocess
import threading

from database import NUMBERS, PROGRAM, Case


class Filters(Case):
    def descriptors(self):
        return len([1 for fd in os.listdir('/proc/self/fd') if os.path.exists(f'/proc/self/fd/{fd}')])

    def filters_open(self):
        with open('/proc/self/maps', encoding='utf-8', errors='replace') as maps:
            return len({line.split()[5] for line in maps if '.blm' in line})

    def test_a_connection_opens_a_filter_once(self):
        self.ask("SELECT bloomery_test('seen', 'a')")
        self.assertEqual(self.filters_open(), 1)
        before = self.descriptors()
        for i in range(100):
            self.ask("SELECT bloomery_test('seen', ?)", i)
        self.assertEqual(self.descriptors(), before)

    def test_a_connection_that_is_closed_closes_its_filters(self):
        db = self.connect()
        self.ask("SELECT bloomery_add('seen', 'a')", db=db)
        self.assertEqual(self.filters_open(), 1)
        db.close()
        self.assertEqual(self.filters_open(), 0)

    def test_a_connection_with_many_filters_closes_the_oldest(self):
        for i in range(70):
            self.bloomery('create', f'f{i}', '-n', '1k')
        self.db.execute("SELECT sum(bloomery_add(name, 'a')) FROM bloomery_ls('f*')").fetchone()
        self.assertLess(self.filters_open(), 70)
        self.assertEqual(self.ask("SELECT sum(bloomery_test(name, 'a')) FROM bloomery_ls"), 70)

    def test_a_dropped_filter_is_missing_in_the_next_statement(self):
        for call in "test('seen', 'a')", "add('seen', 'a')", "claim('seen', 'b')", "count('seen')":
            self.ask(f'SELECT bloomery_{call}')
        self.bloomery('drop', 'seen')
        for call in "test('seen', 'a')", "add('seen', 'a')", "claim('seen', 'b')", "count('seen')":
            self.refused('^seen: ', f'SELECT bloomery_{call}')
        self.assertEqual(self.filters_open(), 0)

    def test_a_filter_recreated_under_its_name_is_used(self):
        self.ask("SELECT bloomery_add('seen', 'a'), bloomery_test('seen', 'a')")
        self.bloomery('drop', 'seen')
        self.bloomery('create', 'seen', '-n', '1k')
        self.assertEqual(self.ask("SELECT bloomery_test('seen', 'a')"), 0)
        self.assertEqual(self.ask("SELECT bloomery_claim('seen', 'b')"), 1)
        self.assertEqual(self.bloomery('test', 'seen', '--key', 'b'), 'b\n')

    def test_a_renamed_filter_is_unused_under_its_old_name(self):
        self.ask("SELECT bloomery_add('seen', 'a'), bloomery_test('seen', 'a')")
        self.bloomery('mv', 'seen', 'old')
        self.refused('^seen: ', "SELECT bloomery_test('seen', 'a')")
        self.bloomery('create', 'seen', '-n', '1k')
        self.assertEqual(self.ask("SELECT bloomery_test('seen', 'a')"), 0)
        self.assertEqual(self.ask("SELECT bloomery_test('old', 'a')"), 1)
        self.assertEqual(self.ask("SELECT bloomery_add('seen', 'b')"), 1)
        self.assertEqual(self.bloomery('test', 'old', '--key', 'b'), '')

    def test_a_name_given_by_two_renames_is_followed(self):
        self.bloomery('create', 'next', '-n', '1k')
        self.bloomery('add', 'next', '--key', 'b')
        self.assertEqual(self.ask("SELECT bloomery_test('seen', 'b')"), 0)
        os.utime(f'{self.store}/catalog/data.mdb', (1, 1))    # as if nothing had changed for long
        self.assertEqual(self.ask("SELECT bloomery_test('seen', 'b')"), 0)
        self.bloomery('mv', 'seen', 'old')
        self.bloomery('mv', 'next', 'seen')
        self.assertEqual(self.ask("SELECT bloomery_test('seen', 'b')"), 1)

    def test_a_published_filter_is_used_by_the_next_statement(self):
        self.ask("SELECT bloomery_test('seen', 'b')")
        self.bloomery('build', 'next', keys='b\n')
        self.bloomery('publish', 'next', 'seen')
        self.assertEqual(self.ask("SELECT bloomery_test('seen', 'b')"), 1)
        self.assertEqual(self.filters_open(), 1)

    def test_an_add_that_outlives_its_filter_uses_the_new(self):
        rows = self.db.execute(NUMBERS.format(10) + "SELECT bloomery_add('seen', x) FROM numbers")
        self.assertEqual(next(rows), (1,))
        self.bloomery('drop', 'seen')
        self.bloomery('create', 'seen', '-n', '1k', '--seed', '1')
        self.assertEqual(list(rows), [(1,)] * 9)
        self.assertIn(self.ask("SELECT bloomery_count('seen')"), (8, 9))    # Python may have asked for a row ahead

    def test_a_statement_that_outlives_its_filter_for_good_fails(self):
        rows = self.db.execute(NUMBERS.format(10) + "SELECT bloomery_add('seen', x) FROM numbers")
        next(rows)
        self.bloomery('drop', 'seen')
        with self.assertRaisesRegex(sqlite3.Error, '^seen: '):
            list(rows)

    def test_a_truncated_file_is_an_error_for_one_statement(self):
        self.ask("SELECT bloomery_test('seen', 'a')")
        path = self.bloomery('info', 'seen', '--json').split('"path":"')[1].split('"')[0]
        os.truncate(path, 4096 * 8)
        rows = self.db.execute(NUMBERS.format(1000) + "SELECT bloomery_test('seen', x) FROM numbers").fetchall()
        self.assertEqual(len(rows), 1000)
        for call in "test('seen', 'a')", "claim('seen', 'a')":
            self.refused('seen|blm', f'SELECT bloomery_{call}')

    def test_a_damaged_header_is_an_error(self):
        path = self.bloomery('info', 'seen', '--json').split('"path":"')[1].split('"')[0]
        with open(path, 'r+b') as file:
            file.seek(64)
            file.write(b'\xff' * 64)
        self.refused('blm', "SELECT bloomery_test('seen', 'a')")

    def test_a_damaged_catalog_is_an_error(self):
        with open(f'{self.store}/catalog/data.mdb', 'r+b') as file:
            file.write(b'\xff' * os.path.getsize(file.name))
        self.refused('store', "SELECT bloomery_test('seen', 'a')")
        self.refused('store', 'SELECT * FROM bloomery_ls')


class Connections(Case):
    KEYS = 20000

    def claim(self, order, wins, barrier):
        db = self.connect(check_same_thread=False)
        barrier.wait()
        wins.append(self.ask(NUMBERS.format(self.KEYS) + 'SELECT count(*) FROM (SELECT CAST(x AS TEXT) AS x FROM numbers '
                             f"ORDER BY numbers.x {order}) WHERE bloomery_claim('seen', x)", db=db))

    def test_two_connections_claim_each_key_exactly_once(self):
        wins, barrier = [], threading.Barrier(2)
        threads = [threading.Thread(target=self.claim, args=(order, wins, barrier)) for order in ('', 'DESC')]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(sum(wins), self.KEYS)
        self.assertEqual(self.ask("SELECT bloomery_count('seen')"), self.KEYS)

    def test_connection_and_program_claim_each_key_once(self):
        with subprocess.Popen([PROGRAM, 'claim', 'seen'], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
            keys = ''.join(f'{i}\n' for i in range(1, self.KEYS + 1)).encode()
            output = []
            thread = threading.Thread(target=lambda: output.append(other.communicate(keys)[0]))
            thread.start()
            wins = []
            self.claim('DESC', wins, threading.Barrier(1))
            thread.join()
        self.assertEqual(wins[0] + output[0].count(b'\n'), self.KEYS)

    def test_threads_share_a_connection(self):
        db = self.connect(check_same_thread=False)
        failed = []

        def work(first):
            try:
                for i in range(first, first + 200):
                    if self.ask("SELECT bloomery_claim('seen', ?) AND bloomery_test('seen', ?)", i, i, db=db) != 1:
                        failed.append(i)
            except Exception as error:  # pylint: disable=broad-except
                failed.append(error)
        threads = [threading.Thread(target=work, args=(first,)) for first in (0, 1000)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(failed, [])
        self.assertEqual(self.ask("SELECT bloomery_count('seen')"), 400)
