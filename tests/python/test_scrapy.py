"""test_scrapy.py - crawls that share a filter, against a site on the loopback"""
import collections
import gc
import http.server
import importlib.util
import multiprocessing
import os
import shutil
import subprocess
import sys
import threading
import time
import unittest
from random import Random

import bloomery

PAGES = 2000 if float(os.environ.get('BLOOMERY_TEST_SCALE', '0.05').replace('full', '1')) >= 1 else 400

SPIDER = '''
import scrapy

class Pages(scrapy.Spider):
    name = 'pages'
    custom_settings = {'DUPEFILTER_CLASS': 'bloomery.scrapy.DupeFilter', 'BLOOMERY_FILTER': './seen.blm', 'BLOOMERY_CAPACITY': 100000,
                       'LOG_LEVEL': 'INFO', 'CONCURRENT_REQUESTS_PER_DOMAIN': 16, 'TELNETCONSOLE_ENABLED': False,
                       'REQUEST_FINGERPRINTER_IMPLEMENTATION': '2.7'}

    free = ''   # else a number of pages, whose first two links make a tree: each is fetched, and no filter is asked

    def start_requests(self):
        if self.first:
            yield scrapy.Request(self.site + self.first, dont_filter=bool(self.free))

    def parse(self, response):
        i = int(response.url.rsplit('/', 1)[1])
        for link in response.text.split():
            if not self.free or link in (f'/{2 * i + 1}', f'/{2 * i + 2}') and int(link[1:]) < int(self.free):
                yield scrapy.Request(self.site + link, dont_filter=bool(self.free))
'''


class Site(http.server.ThreadingHTTPServer):
    """Page i links to 2i + 1, 2i + 2, 7i and 0. It counts what is fetched, and answers the first `limit` requests."""

    def __init__(self):
        site, self.fetched, self.limit, self.changed = self, collections.Counter(), float('inf'), threading.Condition()

        class Page(http.server.BaseHTTPRequestHandler):
            protocol_version = 'HTTP/1.1'
            wbufsize = -1

            def do_GET(self):
                with site.changed:
                    site.fetched[self.path] += 1
                    number = sum(site.fetched.values())
                    site.changed.wait_for(lambda: number <= site.limit)
                i = int(self.path[1:]) if self.path[1:].isdigit() else PAGES
                body = ' '.join(f'/{j}' for j in (2 * i + 1, 2 * i + 2, 7 * i % PAGES, 0) if j < PAGES).encode()
                self.send_response(200)
                self.send_header('Content-Type', 'text/plain')
                self.send_header('Content-Length', str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *args):
                pass

        self.handle_error = lambda *args: None  # who is killed ends no connection as it should
        super().__init__(('127.0.0.1', 0), Page)
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def answer(self, limit):
        with self.changed:
            self.limit = limit
            self.changed.notify_all()


def run_spider(args, said):
    """What `scrapy runspider ARGS...` does, in a process of its own."""
    from scrapy import cmdline
    os.dup2(os.open(said, os.O_WRONLY | os.O_CREAT | os.O_EXCL), 2)
    try:
        cmdline.execute(['scrapy', 'runspider', *args])
    except SystemExit as end:
        code = end.code
    gc.collect()    # as at the end of a program: an error that was not handled is said then
    sys.exit(code)


class Crawl:
    """
    A crawl that is called as a subprocess.Popen is. A server that has loaded Scrapy forks it, because Scrapy takes longer to
    load than a crawl takes. The server has one thread, no reactor and no filter, and draws no random number.
    """

    server = multiprocessing.get_context('forkserver')
    server.set_forkserver_preload(['scrapy.cmdline', 'scrapy.crawler', 'scrapy.core.engine', 'scrapy.core.downloader.handlers.http11',
                                   'scrapy.squeues', 'scrapy.downloadermiddlewares.cookies', 'scrapy.extensions.feedexport',
                                   'scrapy.commands.check', 'scrapy.commands.shell', 'bloomery.scrapy', 'test_scrapy'])
    count = 0

    def __init__(self, args):
        Crawl.count += 1
        self.said = os.path.abspath(f'said-{Crawl.count}')
        self.process = self.server.Process(target=run_spider, args=(args, self.said))
        self.process.start()

    @property
    def returncode(self):
        return self.process.exitcode

    def poll(self):
        return self.process.exitcode

    def kill(self):
        self.process.kill()

    def terminate(self):
        self.process.terminate()

    def communicate(self):
        self.process.join()
        with open(self.said, encoding='utf-8') as file:
            return None, file.read()


@unittest.skipUnless(importlib.util.find_spec('scrapy'), 'scrapy is not here')
class Crawls(unittest.TestCase):
    def setUp(self):
        self.site = Site()
        for name in os.listdir('.'):
            if name.startswith('job'):
                shutil.rmtree(name)
            elif '.blm' in name:
                os.remove(name)
        with open('spider.py', 'w') as file:
            file.write(SPIDER)

    def tearDown(self):
        self.site.shutdown()
        self.site.server_close()

    def crawl(self, *settings, first='/0', free=''):
        args = [*(f'--set={each}' for each in settings), '-a', f'free={free}']
        return Crawl(['spider.py', *args, '-a', f'first={first}', '-a', f'site=http://127.0.0.1:{self.site.server_port}'])

    def test_of_two_crawls_one_fetches_each_page(self):
        crawls = [self.crawl(first='/1'), self.crawl(first='/2')]
        said = [crawl.communicate()[1] for crawl in crawls]
        self.assertEqual([crawl.returncode for crawl in crawls], [0, 0], said)
        self.assertEqual(dict(self.site.fetched), {f'/{i}': 1 for i in range(PAGES)}, said)
        self.assertEqual(len(bloomery.Filter.open('./seen.blm', 'r')), PAGES)
        self.assertIn('is made for 100000', said[0])
        self.assertIn("'bloomery/predicted_lost'", said[0])
        self.assertIn("'bloomery/claimed'", said[0] + said[1])  # a late one may find all pages claimed

    def test_a_stopped_crawl_resumes_and_fetches_the_rest(self):
        self.site.answer(29)
        crawl = self.crawl('JOBDIR=job')
        while sum(self.site.fetched.values()) < 30 and crawl.poll() is None:
            time.sleep(0.01)
        crawl.terminate()
        self.site.answer(float('inf'))
        crawl.communicate()
        said = self.crawl('JOBDIR=job').communicate()[1]
        self.assertEqual(dict(self.site.fetched), {f'/{i}': 1 for i in range(PAGES)}, said)

    def test_a_lease_without_its_middleware_is_refused_with_words(self):
        said = self.crawl('BLOOMERY_LEASE=60').communicate()[1]
        self.assertIn('bloomery.scrapy.Leases', said)
        self.assertEqual(len(self.site.fetched), 0)

    def leased(self, i, **how):
        how.setdefault('first', f'/{i}')
        return self.crawl('BLOOMERY_LEASE=600', 'SPIDER_MIDDLEWARES={"bloomery.scrapy.Leases": 950}', f'JOBDIR=job-{i}', **how)

    def noted(self, i):
        """The pages that spider i has notes of, and how many notes have ended."""
        from scrapy import Request
        from scrapy.utils.request import fingerprint
        pages = {fingerprint(Request(f'http://127.0.0.1:{self.site.server_port}/{j}')).hex(): f'/{j}' for j in range(PAGES)}
        names, ended = set(), 0
        if os.path.exists(f'job-{i}/bloomery.pending'):
            with open(f'job-{i}/bloomery.pending') as file:
                lines = [line.split() for line in file.read().split('\n')[:-1]]
            for sign, name, *_ in (line for line in lines if line[0] in '+-'):
                (names.add if sign == '+' else names.discard)(name)
                ended += sign == '-'
        keys = [name.partition('.')[0] for name in names]
        return {pages[key]: key for key in keys}, ended

    def test_kill_9_loses_no_unfiltered_request(self):
        self.site.answer(29)
        crawl = self.leased(0, free='100')
        latest = time.time() + 200      # by then a spider has worked through all pages that were answered
        while self.noted(0)[1] < 29 and crawl.poll() is None and time.time() < latest:
            time.sleep(0.01)
        crawl.kill()
        self.site.answer(float('inf'))
        crawl.communicate()
        held, ended = self.noted(0)
        self.assertEqual(ended, 29)
        said = self.leased(0, free='100', first='').communicate()[1]
        self.assertEqual(set(self.site.fetched), {f'/{i}' for i in range(100)}, said)
        # the pages that the killed spider had notes of may be fetched again, and nothing else
        again = {page: times for page, times in self.site.fetched.items() if times > 1 + (page in held)}
        self.assertEqual(again, {}, said)
        self.assertEqual(len(bloomery.Filter.open('./seen.blm', 'r')), 0)

    def test_no_page_is_lost_to_kill_9(self):
        random, killed, held = Random(7), 0, collections.Counter()
        rounds = 20 if PAGES == 2000 else 2
        goals = [min(PAGES * round // (rounds + 2), PAGES - 50) for round in range(1, rounds + 1)]
        self.site.answer(goals[0])
        crawls = [self.leased(i) for i in range(4)]
        for goal in goals:
            self.site.answer(goal)
            while sum(self.site.fetched.values()) <= goal and any(crawl.poll() is None for crawl in crawls):
                time.sleep(0.01)
            live = [i for i in range(4) if crawls[i].poll() is None]    # one of them at least waits for an answer
            for i in random.sample(live, min(len(live), 2)):
                killed += 1
                crawls[i].kill()
                crawls[i].communicate()
                with bloomery.Filter.open('./seen.blm', 'r') as done:
                    held.update(page for page, key in self.noted(i)[0].items() if bytes.fromhex(key) not in done)
                crawls[i] = self.leased(i)
        self.site.answer(float('inf'))
        said = [crawl.communicate()[1] for crawl in crawls]
        self.assertEqual(set(self.site.fetched), {f'/{i}' for i in range(PAGES)}, said)
        # the pages that a killed spider had notes of, and had not added, may be fetched again, and nothing else
        again = {page: times for page, times in self.site.fetched.items() if times > 1 + held[page]}
        self.assertEqual(again, {}, said)
        self.assertGreaterEqual(killed, rounds)
        self.assertEqual(len(bloomery.Filter.open('./seen.blm', 'r')), PAGES)

    def test_a_lease_that_ran_out_is_claimed_again(self):
        import scrapy
        from bloomery.scrapy import DupeFilter, Leases
        from scrapy.utils.test import get_crawler
        settings = {'BLOOMERY_FILTER': './out.blm', 'BLOOMERY_CAPACITY': 1000, 'BLOOMERY_LEASE': 1,
                    'REQUEST_FINGERPRINTER_IMPLEMENTATION': '2.7'}
        spiders = []
        for _ in range(2):
            crawler = get_crawler(settings_dict=settings)
            Leases.from_crawler(crawler)
            spiders.append(DupeFilter.from_crawler(crawler))
            spiders[-1].open()
        kept, done = scrapy.Request('http://example.org/kept'), scrapy.Request('http://example.org/done')
        begun = time.time()
        self.assertEqual([spiders[0].request_seen(each) for each in (kept, done)], [False, False])
        spiders[0].done(done.meta['bloomery_keys'])
        while spiders[1].request_seen(kept):
            time.sleep(0.02)
        self.assertGreaterEqual(time.time() - begun, 1)
        self.assertTrue(spiders[1].request_seen(done))
        for spider in spiders:
            spider.close('finished')

    def test_a_redirected_request_ends_with_its_last_page(self):
        import scrapy
        from bloomery.scrapy import DupeFilter, Leases
        from scrapy.utils.test import get_crawler
        crawler = get_crawler(settings_dict={'BLOOMERY_FILTER': './re.blm', 'BLOOMERY_CAPACITY': 1000, 'BLOOMERY_LEASE': 600,
                                             'REQUEST_FINGERPRINTER_IMPLEMENTATION': '2.7'})
        Leases.from_crawler(crawler)
        pages = DupeFilter.from_crawler(crawler)
        pages.open()
        first = scrapy.Request('http://example.org/a')
        self.assertFalse(pages.request_seen(first))
        second = first.replace(url='http://example.org/b', meta={**first.meta, 'redirect_times': 1})
        self.assertFalse(pages.request_seen(second))
        other = scrapy.Request('http://example.org/c', meta=dict(first.meta))   # as spiders pass it on
        self.assertFalse(pages.request_seen(other))
        self.assertEqual([len(each.meta['bloomery_keys']) for each in (first, second, other)], [1, 2, 1])
        pages.done(second.meta['bloomery_keys'])
        self.assertEqual(len(pages.filter), 2)
        pages.close('finished')

    def test_pages_are_due_again_after_recrawl_after(self):
        import scrapy
        from bloomery.scrapy import DupeFilter
        from scrapy.utils.test import get_crawler
        store = {'BLOOMERY_STORE': 'store', 'BLOOMERY_FILTER': 'due', 'BLOOMERY_CAPACITY': 1000,
                 'REQUEST_FINGERPRINTER_IMPLEMENTATION': '2.7'}
        for settings, kind in ({'BLOOMERY_RECRAWL_AFTER': 3600}, 'recent'), ({'BLOOMERY_FILTER': 'kept'}, 'blocked'):
            crawler = get_crawler(settings_dict={**store, **settings})
            pages = DupeFilter.from_crawler(crawler)
            pages.open()
            info = pages.filter.info
            self.assertEqual((info.kind, info.rate, 'span=3600' in info.options), (kind, 1e-6, kind == 'recent'))
            request = scrapy.Request('http://example.org/')
            self.assertEqual([pages.request_seen(request) for _ in range(2)], [False, True])
            pages.close('finished')
            self.assertEqual([crawler.stats.get_value(f'bloomery/{name}') for name in ('claimed', 'known', 'pages')], [1, 1, 1])

    def test_a_second_crawl_fetches_the_pages_that_are_due(self):
        import scrapy
        from scrapy.utils.request import fingerprint
        with bloomery.Filter.create('./due.blm', 100000, 1e-9, kind='recent', options='span=86400') as seen:
            pages = [fingerprint(scrapy.Request(f'http://127.0.0.1:{self.site.server_port}/{i}')) for i in range(PAGES)]
            seen.add_at(pages[:50], time.time() - 2 * 86400)
            seen.add_at(pages[100:], time.time() - 6000)
        said = self.crawl('BLOOMERY_RECRAWL_AFTER=86400', 'BLOOMERY_FILTER=./due.blm').communicate()[1]
        self.assertEqual(dict(self.site.fetched), {f'/{i}': 1 for i in range(100)}, said)
        for stat in 'claimed', 'known', 'pages_at_start', 'pages', 'predicted_lost', 'age':
            self.assertIn(f"'bloomery/{stat}'", said)
        self.assertIn("'dupefilter/filtered'", said)

    def made(self, **settings):
        """A filter with leases, and its crawler, in this process."""
        from bloomery.scrapy import DupeFilter, Leases
        from scrapy.utils.test import get_crawler
        crawler = get_crawler(settings_dict={'BLOOMERY_FILTER': './made.blm', 'BLOOMERY_CAPACITY': 1000, 'BLOOMERY_LEASE': 600,
                                             'REQUEST_FINGERPRINTER_IMPLEMENTATION': '2.7', **settings})
        Leases.from_crawler(crawler)
        return DupeFilter.from_crawler(crawler), crawler

    def test_a_full_table_of_leases_grows_without_loss(self):
        import scrapy
        pages, crawler = self.made(BLOOMERY_CAPACITY=20, BLOOMERY_RATE=1e-9)
        pages.open()
        requests = [scrapy.Request(f'http://example.org/{i}') for i in range(300)]
        self.assertEqual([pages.request_seen(each) for each in requests], [False] * 300)
        self.assertEqual([pages.request_seen(each) for each in requests], [True] * 300)
        self.assertGreaterEqual(crawler.stats.get_value('bloomery/grown'), 2)
        pages.close('finished')

    def test_a_lease_without_jobdir_is_warned_of(self):
        with self.assertLogs('bloomery.scrapy', 'WARNING') as logs:
            self.made()
        self.assertIn('set JOBDIR', logs.output[0])

    def test_an_unreadable_note_keeps_other_notes_usable(self):
        import scrapy
        from unittest import mock
        os.mkdir('job-notes')
        pages, crawler = self.made(JOBDIR='job-notes')
        crawler.spider = scrapy.Spider('notes')
        pages.open()
        for i in range(3):
            self.assertFalse(pages.request_seen(scrapy.Request(f'http://example.org/{i}')))
        pages.filter.close(), pages.leases.close(), pages.pending.file.close()      # as if killed
        with open('job-notes/bloomery.pending') as file:
            lines = file.read().split('\n')
        lines[0] = ' '.join([*lines[0].split()[:3], 'bm8gcGlja2xl'])
        lines.insert(1, '+ aa soon bm8gcGlja2xl')
        with open('job-notes/bloomery.pending', 'w') as file:
            file.write('\n'.join(lines))
        pages, crawler = self.made(JOBDIR='job-notes')
        pages.open()
        crawler.engine = mock.Mock()
        pages._go_on(scrapy.Spider('notes'))
        self.assertEqual([each.args[0].url for each in crawler.engine.crawl.mock_calls], ['http://example.org/1', 'http://example.org/2'])
        self.assertEqual([crawler.stats.get_value(f'bloomery/{name}') for name in ('resumed', 'not_resumed')], [2, 1])
        pages.close('finished')
        with open('job-notes/bloomery.pending') as file:
            self.assertIn(lines[0], file.read())

    def test_a_link_at_the_new_notes_keeps_its_target(self):
        from bloomery.scrapy import Pending
        os.mkdir('job-link')
        with open('job-link/kept', 'w') as file:
            file.write('of another user')
        os.symlink('kept', 'job-link/bloomery.pending.new')
        pending = Pending('job-link')
        pending.add('00ff', {})
        pending.close(clean=False)
        with open('job-link/kept') as file:
            self.assertEqual(file.read(), 'of another user')
        self.assertEqual(sorted(os.listdir('job-link')), ['bloomery.pending', 'kept'])
        self.assertFalse(os.path.islink('job-link/bloomery.pending'))
        with open('job-link/bloomery.pending.new', 'w') as file:    # a killed spider left it
            file.write('+ part of a li')
        self.assertEqual(list(Pending('job-link').entries), ['00ff'])

    def test_a_crawler_killed_after_a_claim_leaves_a_note(self):
        import scrapy
        from unittest import mock
        os.mkdir('job-early')
        pages, crawler = self.made(JOBDIR='job-early')
        crawler.spider = scrapy.Spider('early')
        pages.open()
        claim = bloomery.Filter.claim

        def claim_and_die(*args):
            claim(*args)
            raise KeyboardInterrupt

        with mock.patch.object(bloomery.Filter, 'claim', claim_and_die), self.assertRaises(KeyboardInterrupt):
            pages.request_seen(scrapy.Request('http://example.org/'))
        pages.filter.close(), pages.leases.close(), pages.pending.file.close()
        pages, crawler = self.made(JOBDIR='job-early')
        pages.open()
        crawler.engine = mock.Mock()
        pages._go_on(scrapy.Spider('early'))
        self.assertEqual([each.args[0].url for each in crawler.engine.crawl.mock_calls], ['http://example.org/'])
        self.assertEqual([each.args[0].meta['bloomery_keys'] for each in crawler.engine.crawl.mock_calls], [list(pages.pending.entries)])
        pages.close('finished')

    def test_unfiltered_requests_are_noted_and_resume_once(self):
        import scrapy
        from unittest import mock
        os.mkdir('job-free')

        def start():
            pages, crawler = self.made(JOBDIR='job-free')
            crawler.spider, crawler.engine = scrapy.Spider('free'), mock.Mock()
            pages.open()
            pages._go_on(crawler.spider)
            return pages, crawler, crawler.spider

        def request(name, **more):
            return scrapy.Request(f'http://example.org/{name}', dont_filter=True, **more)

        pages, crawler, spider = start()
        sent = [request(name) for name in ('again', 'again', 'left', 'done')]
        for each in sent:
            pages._note_unfiltered(each, spider)
        retried = sent[0].replace(meta={**sent[0].meta, 'retry_times': 1})
        pages._note_unfiltered(retried, spider)
        self.assertEqual(retried.meta['bloomery_keys'], sent[0].meta['bloomery_keys'])
        leases = crawler.bloomery_leases
        response = scrapy.http.Response('http://example.org/done', request=sent[3])
        leases.process_spider_input(response, spider)
        child = request('child', meta=response.meta)    # as spiders pass it on
        for each in leases.process_spider_output(response, [child], spider):
            pages._note_unfiltered(each, spider)
        names = [each.meta['bloomery_keys'][0] for each in (*sent[:3], child)]
        self.assertEqual(len(set(names)), 4)
        self.assertEqual(len(pages.filter), 0)
        pages.filter.close(), pages.leases.close(), pages.pending.file.close()      # as if killed

        pages, crawler, spider = start()
        self.assertEqual(list(pages.pending.entries), names)
        crawler.engine.crawl.assert_not_called()
        again = request('again')
        pages._note_unfiltered(again, spider)           # takes over one of the two notes
        self.assertIn(again.meta['bloomery_keys'][0], names[:2])
        pages.close('shutdown')                         # before it was idle: the others are not in Scrapy's queue

        pages, crawler, spider = start()
        pages._go_on_unfiltered(spider)
        crawled = [each.args[0] for each in crawler.engine.crawl.mock_calls]
        self.assertEqual(sorted(each.url[19:] for each in crawled), ['again', 'again', 'child', 'left'])
        self.assertEqual(sorted(each.meta['bloomery_keys'][0] for each in crawled), sorted(names))
        for each in crawled:
            pages._note_unfiltered(each, spider)        # has its note
            self.assertTrue(each.dont_filter)
            pages.done(each.meta['bloomery_keys'])
        pages._go_on_unfiltered(spider)
        self.assertEqual(len(crawler.engine.crawl.mock_calls), 4)
        pages.close('finished')
        self.assertEqual(self.made(JOBDIR='job-free')[0].pending.entries, {})

    def test_a_recrawl_filter_closes_without_the_setting(self):
        import warnings
        pages, _ = self.made(BLOOMERY_RECRAWL_AFTER=0.4, BLOOMERY_LEASE=0)
        pages.open()
        self.assertIn('span=0.4', pages.filter.info.options)
        pages.close('finished')
        pages, crawler = self.made(BLOOMERY_LEASE=0)
        with warnings.catch_warnings():
            warnings.simplefilter('ignore')     # of another kind
            pages.open()
        pages.close('finished')
        self.assertEqual(crawler.stats.get_value('bloomery/pages'), 0)

    def test_requests_seen_is_taken_over(self):
        from bloomery.scrapy import import_requests_seen
        with open('requests.seen', 'w') as file:
            file.write('00ff\n' + '11' * 20 + '\n')
        f = bloomery.Filter(1000, 1e-9)
        self.assertEqual(import_requests_seen('requests.seen', f), 2)
        self.assertIn(b'\x11' * 20, f)

    @unittest.skipUnless(shutil.which('redis-server') and importlib.util.find_spec('redis'), 'needs redis-server and its client')
    def test_a_set_of_scrapy_redis_is_taken_over(self):
        import redis
        from bloomery.scrapy import import_redis_set
        socket = os.path.abspath('s')
        server = subprocess.Popen(['redis-server', '--port', '0', '--unixsocket', socket, '--save', ''], stdout=subprocess.DEVNULL)
        try:
            for decoded in (False, True):
                client = redis.Redis(unix_socket_path=socket, decode_responses=decoded)
                for _ in range(1200):
                    try:
                        client.ping()
                        break
                    except redis.exceptions.ConnectionError:
                        time.sleep(0.1)
                pages = [number.to_bytes(20, 'big') for number in range(5000)]
                client.sadd('spider:dupefilter', *(page.hex() for page in pages))
                f = bloomery.Filter(10000, 1e-9)
                self.assertEqual(import_redis_set(client, 'spider:dupefilter', f), 5000)
                self.assertEqual(f.contains_many(pages).yes, 5000)
                self.assertNotIn((5000).to_bytes(20, 'big'), f)
                self.assertEqual(client.scard('spider:dupefilter'), 5000)
        finally:
            server.kill()
            server.wait()
