"""A DUPEFILTER_CLASS for Scrapy: any number of spiders and processes share one filter.

    DUPEFILTER_CLASS = "bloomery.scrapy.DupeFilter"
    BLOOMERY_FILTER = "/var/crawl/seen.blm"     # a path with a slash, or a name in BLOOMERY_STORE
    BLOOMERY_CAPACITY = 100_000_000             # pages

A request is claimed when it is scheduled, so each page is fetched by one process. `kill -9` loses the requests that are
in Scrapy's queue, as with Scrapy's own filter: their claims stay. A clean stop (SIGTERM) with JOBDIR loses none.

With leases `kill -9` loses no page that has one:

    BLOOMERY_LEASE = 3600                       # seconds
    SPIDER_MIDDLEWARES = {"bloomery.scrapy.Leases": 950}
    JOBDIR = "/var/crawl/job-1"                 # one for each spider

A request that is scheduled then has a lease, in a filter beside the other one. Its page is added for good when the
spider has worked through the response, so that all its links have leases. A page whose lease ran out can be claimed
again by any spider. With JOBDIR a spider notes its requests in JOBDIR/bloomery.pending, and after `kill -9` it goes on
with them: start it again within the lease, with the same JOBDIR. A lease should be longer than a request waits in the
queue, or two spiders fetch the page. Without JOBDIR no spider goes on with the requests of one that was killed: its
pages are claimed again only if a spider finds a link to them after the lease.

Requests with dont_filter=True, as those of start_urls, are noted as well, so `kill -9` loses none of them. They are not
claimed, have no lease, and do not add their pages. A note that is left is for the same request of the spider that is
started again, as one of start_urls. What the spider does not send again is scheduled as soon as the spider is idle.

A page that was in a spider's hands when it was killed may be fetched twice. A table of leases that is full is made twice
as large.

Spiders of several machines share a filter through Redis or Valkey, or a cluster of them, with the module of Bloomery:

    DUPEFILTER_CLASS = "bloomery.scrapy.RedisDupeFilter"
    BLOOMERY_REDIS = "redis://crawl-1:6379/0"
    BLOOMERY_FILTER = "seen"                    # the key

It has BLOOMERY_CAPACITY and BLOOMERY_RATE, too, and BLOOMERY_SHARDS: the number of keys that hold the filter, for a
cluster (1; see bloomery.redis). More than 1: BLOOMERY_REDIS is a node of the cluster. It has no leases and no recrawl.

Settings:
    BLOOMERY_FILTER         the filter; in JOBDIR, or else the working directory, seen.blm
    BLOOMERY_STORE          the directory of a store, for a name without a slash
    BLOOMERY_CAPACITY       pages that it is made for (10,000,000)
    BLOOMERY_RATE           share of new pages that are taken for seen, and not fetched, at capacity (1e-6)
    BLOOMERY_SYNC_EVERY     seconds between syncs, which survive a power cut; 0: at the end only (60)
    BLOOMERY_RECRAWL_AFTER  seconds after which a page is due again; 0: never (0)
    BLOOMERY_LEASE          seconds for which a scheduled request is kept from other spiders; 0: no leases (0)
"""
import base64
import contextlib
import logging
import os
import pickle
import shutil
import time
import uuid
from typing import Any, AsyncIterator, Callable, Dict, Iterator, List, Optional, Tuple, Type, TypeVar

from scrapy import signals  # type: ignore[import]
from scrapy.dupefilters import BaseDupeFilter  # type: ignore[import]
from scrapy.exceptions import NotConfigured  # type: ignore[import]
from scrapy.utils.job import job_dir  # type: ignore[import]
from scrapy.utils.request import request_from_dict  # type: ignore[import]

from . import Filter, Full, Store
from .redis import SharedFilter

logger = logging.getLogger(__name__)
D = TypeVar("D", bound="DupeFilter")
L = TypeVar("L", bound="Leases")
R = TypeVar("R", bound="RedisDupeFilter")
# in a request's meta: names of the notes that end with its page, its own and of what was redirected to it
KEYS = "bloomery_keys"
# the same, once its page is with the spider; so what the spider sends with the meta of the page has no KEYS of the page
WORKED = "bloomery_worked"


def _span(seconds: float) -> str:
    return "span=" + f"{seconds:.3f}".rstrip("0").rstrip(".")


class Pending:
    """The requests of one spider that are scheduled and not done: a file of a line each, which outlives `kill -9`.

    Lines: "+ NAME TIME REQUEST", "- NAME" once it is done, "clean" if Scrapy has the rest in its own queue. A name is the
    fingerprint of a request that has a lease, or fingerprint, dot and a random number for dont_filter=True.
    """

    def __init__(self, folder: str) -> None:
        self.path, self.queue = os.path.join(folder, "bloomery.pending"), os.path.join(folder, "requests.queue")
        self.entries, clean = self._read()
        self.killed = bool(self.entries) and not clean
        if self.killed:  # what is left of Scrapy's queue is a part of these, or old
            shutil.rmtree(self.queue, ignore_errors=True)
        fresh = self.path + ".new"
        with contextlib.suppress(FileNotFoundError):
            os.unlink(fresh)  # a killed spider left it, or it is another user's link
        with open(fresh, "xb") as file:
            for key, (when, request) in self.entries.items():
                file.write(b"+ %s %r %s\n" % (key.encode(), when, request))
        os.replace(fresh, self.path)
        self.file = open(self.path, "ab", buffering=0)  # one write a line, and no line is lost with the process

    def _read(self) -> Tuple[Dict[str, Tuple[float, bytes]], bool]:
        entries: Dict[str, Tuple[float, bytes]] = {}
        clean = True
        try:
            with open(self.path, "rb") as file:
                lines = file.read().split(b"\n")[:-1]  # the last one may be cut short
        except FileNotFoundError:
            lines = []
        for line in lines:
            words = line.split()
            clean = words[:1] == [b"clean"]
            if words[:1] == [b"+"] and len(words) == 4:
                try:
                    entries[words[1].decode()] = (float(words[2]), words[3])
                except ValueError:
                    logger.error("Bloomery: %s: a line is damaged, and its request is lost: %r", self.path, line[:100])
            elif words[:1] == [b"-"] and len(words) == 2:
                entries.pop(words[1].decode(errors="replace"), None)
        return entries, clean

    def add(self, key: str, request: Dict[str, Any]) -> None:
        """Note a request."""
        self.file.write(b"+ %s %r %s\n" % (key.encode(), time.time(), base64.b64encode(pickle.dumps(request))))

    def done(self, key: str) -> None:
        """Take it off."""
        self.file.write(b"- %s\n" % key.encode())

    def close(self, clean: bool) -> None:
        """clean: Scrapy has put all that is left into its queue on the disk, so the next start need not."""
        if clean:
            self.file.write(b"clean\n")
        self.file.close()


class Leases:
    """A SPIDER_MIDDLEWARE: tells the DupeFilter that a response was worked through. Needed with BLOOMERY_LEASE."""

    def __init__(self, crawler: Any) -> None:
        self.crawler = crawler
        self.filter: Optional["DupeFilter"] = None  # set by that

    @classmethod
    def from_crawler(cls: Type[L], crawler: Any) -> L:
        crawler.bloomery_leases = made = cls(crawler)
        return made

    def _done(self, names: List[str]) -> None:
        if self.filter is not None:
            self.filter.done(names)

    def process_spider_input(self, response: Any, spider: Any) -> None:
        """The page is with the spider."""
        response.meta[WORKED] = response.meta.pop(KEYS, [])

    def process_spider_output(self, response: Any, result: Any, spider: Any) -> Iterator[Any]:
        """Each request that the callback gives is scheduled before the next one is asked for."""
        names = response.meta.get(WORKED, [])
        yield from result
        self._done(names)

    async def process_spider_output_async(self, response: Any, result: Any, spider: Any) -> AsyncIterator[Any]:
        """The same, for callbacks that are asynchronous generators."""
        names = response.meta.get(WORKED, [])
        async for each in result:
            yield each
        self._done(names)

    def process_spider_exception(self, response: Any, exception: BaseException, spider: Any) -> None:
        """A page that the spider cannot use, or does not want, is done as well."""
        self._done(response.meta.get(KEYS) or response.meta.get(WORKED, []))


class DupeFilter(BaseDupeFilter):  # type: ignore[misc]
    """Claims the fingerprint of each request that is scheduled."""

    filter: Filter
    leases: Optional[Filter] = None
    pending: Optional[Pending] = None

    def __init__(self, where: str, store: Optional[str], capacity: int, rate: float, sync_every: float, recrawl: float,
                 lease: float, crawler: Any) -> None:
        self.where, self.directory, self.crawler = where, store, crawler
        self.capacity, self.rate, self.sync_every = capacity, rate, sync_every
        self.recrawl, self.lease = recrawl, lease
        self.left: Dict[str, List[str]] = {}  # notes that a killed spider left of requests with dont_filter=True
        self.logged = False

    @classmethod
    def from_crawler(cls: Type[D], crawler: Any) -> D:
        settings = crawler.settings
        folder, lease = job_dir(settings), settings.getfloat("BLOOMERY_LEASE", 0)
        made = cls(settings.get("BLOOMERY_FILTER") or os.path.join(folder or ".", "seen.blm"), settings.get("BLOOMERY_STORE"),
                   settings.getint("BLOOMERY_CAPACITY", 10_000_000), settings.getfloat("BLOOMERY_RATE", 1e-6),
                   settings.getfloat("BLOOMERY_SYNC_EVERY", 60), settings.getfloat("BLOOMERY_RECRAWL_AFTER", 0), lease, crawler)
        if lease:
            if not hasattr(crawler, "bloomery_leases"):
                raise NotConfigured("BLOOMERY_LEASE: the middleware that reports finished pages is missing; set "
                                    'SPIDER_MIDDLEWARES = {"bloomery.scrapy.Leases": 950}, too')
            crawler.bloomery_leases.filter = made
            if folder:
                made.pending = Pending(folder)
                crawler.signals.connect(made._go_on, signals.spider_opened)
                crawler.signals.connect(made._note_unfiltered, signals.request_scheduled)
                crawler.signals.connect(made._go_on_unfiltered, signals.spider_idle)
            else:
                logger.warning("Bloomery: BLOOMERY_LEASE without JOBDIR: no spider goes on with the requests of one that "
                               "was killed; set JOBDIR, too")
        return made

    def open(self) -> None:
        """Open the filter, or make it."""
        named = self.directory is not None and "/" not in self.where
        store = Store(self.directory) if named and self.directory is not None else None
        kind = {"kind": "recent", "options": _span(self.recrawl)} if self.recrawl else {}
        self.filter = Filter.open_or_create(self.where, self.capacity, self.rate, store=store, **kind)
        if self.lease:
            self.leases = Filter.open_or_create(self.where + ".leases", self.capacity, self.rate, store=store, kind="recent",
                                                options=_span(self.lease))
        info = self.filter.info
        if self.sync_every:
            self.filter.sync_every(0, self.sync_every)
        logger.info("Bloomery: %s has %d pages and is made for %d; at that number about %.3g new pages are taken for seen",
                    self.where, len(self.filter), info.capacity, info.capacity * info.rate)
        self._stat("set_value", "bloomery/pages_at_start", len(self.filter))

    def _unless_full(self, change: Callable[[Filter, bytes], bool], table: Filter, key: bytes) -> bool:
        """A change of a table that is made larger if it is full."""
        try:
            return change(table, key)
        except Full:
            table.grow(force=True)
            self._stat("inc_value", "bloomery/grown")
            logger.warning("Bloomery: a table was full, and was made twice as large; give a larger BLOOMERY_CAPACITY next time")
            return change(table, key)

    def _claim_lease(self, key: bytes, request: Any) -> bool:
        if self.leases is None or key in self.filter or key in self.leases:
            return False
        # the note comes first: who is killed after the claim goes on with the page
        before = request.meta.get(KEYS)
        request.meta[KEYS] = [*(before or [] if "redirect_times" in request.meta else []), key.hex()]
        self._note(key.hex(), request)
        # the other spider adds the page before its lease ends, so a page that was done meanwhile is found the second time
        if self._unless_full(Filter.claim, self.leases, key) and key not in self.filter:
            return True
        request.meta[KEYS] = before or []
        if self.pending is not None:
            self.pending.done(key.hex())
        return False

    def request_seen(self, request: Any) -> bool:
        """Was the page of this request claimed before, by any spider?"""
        key = self.crawler.request_fingerprinter.fingerprint(request)
        if self.leases is None:
            new = self._unless_full(Filter.claim, self.filter, key)
        else:
            new = self._claim_lease(key, request)
        self._stat("inc_value", "bloomery/claimed" if new else "bloomery/known")
        return not new

    def _note(self, key: str, request: Any) -> None:
        if self.pending is None:
            return
        try:
            self.pending.add(key, request.to_dict(spider=self.crawler.spider))
        except (ValueError, TypeError, AttributeError, pickle.PicklingError) as error:
            self._stat("inc_value", "bloomery/not_noted")
            logger.warning("Bloomery: %s would be lost by kill -9, because it cannot be written down: %s", request, error)

    def _note_unfiltered(self, request: Any, spider: Any) -> None:
        """Note a request with dont_filter=True, about which request_seen() is not asked, before it is scheduled.

        One with KEYS has a note: it is retried, redirected, or taken up again.
        """
        if self.pending is None or not request.dont_filter or request.meta.get(KEYS):
            return
        key = self.crawler.request_fingerprinter.fingerprint(request).hex()
        left = self.left.get(key)
        name = left.pop() if left else f"{key}.{uuid.uuid4().hex[:16]}"
        request.meta[KEYS] = [name]
        self._note(name, request)

    def done(self, names: List[str]) -> None:
        """The spider has worked through the page: it is not claimed any more."""
        for name in names:
            if "." not in name:
                self._unless_full(Filter.add, self.filter, bytes.fromhex(name))
            if self.pending is not None:
                self.pending.done(name)

    def _go_on(self, spider: Any) -> None:
        """Schedule what a spider with this JOBDIR left that was killed, unless others have it by now."""
        if self.pending is None or not self.pending.killed:
            return
        for name in self.pending.entries:
            key, dot, _ = name.partition(".")
            if dot:  # the spider may send the same request by itself
                self.left.setdefault(key, []).append(name)
            else:
                self._try_to_go_on_with(name, spider)

    def _go_on_unfiltered(self, spider: Any) -> None:
        """Schedule what is left of requests with dont_filter=True; an idle spider has sent all that it sends by itself."""
        left, self.left = self.left, {}
        for names in left.values():
            for name in names:
                self._try_to_go_on_with(name, spider)

    def _try_to_go_on_with(self, name: str, spider: Any) -> None:
        assert self.pending is not None
        try:
            self._go_on_with(name, *self.pending.entries[name], spider)
        except Exception as error:  # whatever a note of another version of the spider raises; it stays in the file
            self._stat("inc_value", "bloomery/not_resumed")
            logger.error("Bloomery: %s: the request with fingerprint %s cannot be taken up again, and stays in the file: %r",
                         self.pending.path, name, error)

    def _go_on_with(self, name: str, when: float, line: bytes, spider: Any) -> None:
        assert self.pending is not None and self.leases is not None
        request = request_from_dict(pickle.loads(base64.b64decode(line)), spider=spider)
        if "." in name:
            self.crawler.engine.crawl(request)
            self._stat("inc_value", "bloomery/resumed")
            return
        key = bytes.fromhex(name)
        if key in self.filter or not (time.time() - when < self.lease or self._unless_full(Filter.claim, self.leases, key)):
            self.pending.done(name)
            return
        self._unless_full(Filter.add, self.leases, key)
        self.pending.add(name, request.to_dict(spider=spider))
        self.crawler.engine.crawl(request.replace(dont_filter=True))
        self._stat("inc_value", "bloomery/resumed")

    def log(self, request: Any, spider: Any) -> None:
        """Count a request that is not scheduled, and log the first one."""
        if not self.logged:
            logger.debug("Filtered duplicate request: %s (no more duplicates are logged)", request)
            self.logged = True
        self._stat("inc_value", "dupefilter/filtered")

    def close(self, reason: str) -> None:
        """Sync, and close the filter."""
        info = self.filter.info
        if info.kind != "recent":  # which may be what it was made as
            self._stat("set_value", "bloomery/fill", self.filter.estimate().fill.value)
        self._stat("set_value", "bloomery/pages", len(self.filter))
        self._stat("set_value", "bloomery/age", max(time.time() - info.created / 1e9, 0))
        self._stat("set_value", "bloomery/predicted_lost", info.rate_at_keys * len(self.filter))
        if info.keys > info.capacity:
            logger.warning("Bloomery: %s has %d pages, more than the %d that it is made for; now %.3g of the new pages are "
                           "taken for seen: start a larger one", self.where, info.keys, info.capacity, info.rate_at_keys)
        self.filter.sync()
        self.filter.close()
        if self.leases is not None:
            self.leases.close()
        if self.pending is not None:
            self.pending.close(not self.left)

    def _stat(self, call: str, name: str, *value: Any) -> None:
        _stat(self.crawler, call, name, *value)


class RedisDupeFilter(BaseDupeFilter):  # type: ignore[misc]
    """Claims the fingerprint of each request that is scheduled, at a server. Needs the package redis."""

    def __init__(self, filter: SharedFilter, capacity: int, rate: float, crawler: Any) -> None:
        self.filter, self.capacity, self.rate, self.crawler = filter, capacity, rate, crawler
        self.logged = False

    @classmethod
    def from_crawler(cls: Type[R], crawler: Any) -> R:
        from redis import Redis  # type: ignore[import]
        from redis.cluster import RedisCluster  # type: ignore[import]
        settings = crawler.settings
        for name in "BLOOMERY_LEASE", "BLOOMERY_RECRAWL_AFTER", "BLOOMERY_STORE":
            if settings.get(name):
                raise NotConfigured(f"{name}: RedisDupeFilter has none; use DupeFilter with a local filter, or unset it")
        url, shards = settings.get("BLOOMERY_REDIS", "redis://localhost:6379/0"), settings.getint("BLOOMERY_SHARDS", 1)
        client = (RedisCluster if shards > 1 else Redis).from_url(url)
        return cls(SharedFilter(client, settings.get("BLOOMERY_FILTER") or "seen", shards),
                   settings.getint("BLOOMERY_CAPACITY", 10_000_000), settings.getfloat("BLOOMERY_RATE", 1e-6), crawler)

    def open(self) -> None:
        """Create the filter, if the server has none."""
        self.filter.create(self.capacity, self.rate)
        pages = len(self.filter)
        logger.info("Bloomery: %s has %d pages and is made for %d; at that number about %.3g new pages are taken for seen",
                    self.filter.name, pages, self.capacity, self.capacity * self.rate)
        self._stat("set_value", "bloomery/pages_at_start", pages)

    def request_seen(self, request: Any) -> bool:
        """Was the page of this request claimed before, by any spider?"""
        new = self.filter.claim(self.crawler.request_fingerprinter.fingerprint(request))
        self._stat("inc_value", "bloomery/claimed" if new else "bloomery/known")
        return not new

    log = DupeFilter.log

    def close(self, reason: str) -> None:
        """Count the pages."""
        self._stat("set_value", "bloomery/pages", len(self.filter))
        self.filter.client.close()

    def _stat(self, call: str, name: str, *value: Any) -> None:
        _stat(self.crawler, call, name, *value)


def _stat(crawler: Any, call: str, name: str, *value: Any) -> None:
    if crawler.stats is not None:
        getattr(crawler.stats, call)(name, *value)


def import_requests_seen(path: str, into: Filter) -> int:
    """Add the fingerprints of Scrapy's requests.seen, one in hexadecimal a line. Returns how many were new."""
    with open(path, encoding="ascii") as lines:
        return into.add_many(bytes.fromhex(line.strip()) for line in lines if line.strip()).yes


def import_redis_set(client: Any, key: str, into: Filter) -> int:
    """Add the fingerprints of scrapy-redis, a set in Redis of one in hexadecimal a member. Returns how many were new.

    client: one of the package redis. The set is read with SSCAN, piece by piece, and stays as it is. Up to scrapy-redis
    0.7.3 its fingerprints are Scrapy's for REQUEST_FINGERPRINTER_IMPLEMENTATION = "2.6"; later it makes its own.
    """
    return into.add_many(bytes.fromhex(member.decode() if isinstance(member, bytes) else member)
                         for member in client.sscan_iter(key, count=1000)).yes
