"""A DUPEFILTER_CLASS for Scrapy: any number of spiders and processes share one filter.

    DUPEFILTER_CLASS = "bloomery.scrapy.DupeFilter"
    BLOOMERY_FILTER = "/var/crawl/seen.blm"     # a path with a slash, or a name in BLOOMERY_STORE
    BLOOMERY_CAPACITY = 100_000_000             # pages

A request is claimed when it is scheduled, so each page is fetched by one process. `kill -9` loses the requests that are
in Scrapy's queue, as with Scrapy's own filter: their claims stay. Start again with a fresh filter and Scrapy's HTTP cache
to fetch them. A clean stop (SIGTERM) with JOBDIR loses none.

Settings:
    BLOOMERY_FILTER         the filter; in JOBDIR, or else the working directory, seen.blm
    BLOOMERY_STORE          the directory of a store, for a name without a slash
    BLOOMERY_CAPACITY       pages that it is made for (10,000,000)
    BLOOMERY_RATE           share of new pages that are taken for seen, and not fetched, at capacity (1e-6)
    BLOOMERY_SYNC_EVERY     seconds between syncs, which survive a power cut; 0: at the end only (60)
    BLOOMERY_RECRAWL_AFTER  seconds after which a page is due again; 0: never (0)
    BLOOMERY_LEASE          not there yet: refused
"""
import logging
import os
from typing import Any, Optional, Type, TypeVar

from scrapy.dupefilters import BaseDupeFilter  # type: ignore[import]
from scrapy.exceptions import NotConfigured  # type: ignore[import]
from scrapy.utils.job import job_dir  # type: ignore[import]

from . import Filter, Store

logger = logging.getLogger(__name__)
D = TypeVar("D", bound="DupeFilter")


class DupeFilter(BaseDupeFilter):  # type: ignore[misc]
    """Claims the fingerprint of each request that is scheduled."""

    filter: Filter

    def __init__(self, where: str, store: Optional[str], capacity: int, rate: float, sync_every: float, recrawl: float,
                 crawler: Any) -> None:
        self.where, self.directory, self.crawler = where, store, crawler
        self.capacity, self.rate, self.sync_every, self.recrawl = capacity, rate, sync_every, recrawl
        self.logged = False

    @classmethod
    def from_crawler(cls: Type[D], crawler: Any) -> D:
        settings = crawler.settings
        if settings.get("BLOOMERY_LEASE"):
            raise NotConfigured("BLOOMERY_LEASE: this version of Bloomery has no leases; take the setting out, and read "
                                "help(bloomery.scrapy) on killed spiders")
        folder = job_dir(settings)
        return cls(settings.get("BLOOMERY_FILTER") or os.path.join(folder or ".", "seen.blm"), settings.get("BLOOMERY_STORE"),
                   settings.getint("BLOOMERY_CAPACITY", 10_000_000), settings.getfloat("BLOOMERY_RATE", 1e-6),
                   settings.getfloat("BLOOMERY_SYNC_EVERY", 60), settings.getfloat("BLOOMERY_RECRAWL_AFTER", 0), crawler)

    def open(self) -> None:
        """Open the filter, or make it."""
        named = self.directory is not None and "/" not in self.where
        store = Store(self.directory) if named and self.directory is not None else None
        kind = {"kind": "window", "options": f"span={self.recrawl:.0f}"} if self.recrawl else {}
        self.filter = Filter.open_or_create(self.where, self.capacity, self.rate, store=store, **kind)
        info = self.filter.info
        if self.sync_every:
            self.filter.sync_every(0, self.sync_every)
        logger.info("Bloomery: %s has %d pages and is made for %d; at that number about %.3g new pages are taken for seen",
                    self.where, len(self.filter), info.capacity, info.capacity * info.rate)
        self._stat("set_value", "bloomery/pages_at_start", len(self.filter))

    def request_seen(self, request: Any) -> bool:
        """Was the page of this request claimed before, by any spider?"""
        new = self.filter.claim(self.crawler.request_fingerprinter.fingerprint(request))
        self._stat("inc_value", "bloomery/claimed" if new else "bloomery/known")
        return not new

    def log(self, request: Any, spider: Any) -> None:
        """Count a request that is not scheduled, and log the first one."""
        if not self.logged:
            logger.debug("Filtered duplicate request: %s (no more duplicates are logged)", request)
            self.logged = True
        self._stat("inc_value", "dupefilter/filtered")

    def close(self, reason: str) -> None:
        """Sync, and close the filter."""
        info = self.filter.info
        if not self.recrawl:
            self._stat("set_value", "bloomery/fill", self.filter.estimate().fill.value)
        self._stat("set_value", "bloomery/pages", len(self.filter))
        self._stat("set_value", "bloomery/predicted_lost", info.rate_at_keys * len(self.filter))
        if info.keys > info.capacity:
            logger.warning("Bloomery: %s has %d pages, more than the %d that it is made for; now %.3g of the new pages are "
                           "taken for seen: start a larger one", self.where, info.keys, info.capacity, info.rate_at_keys)
        self.filter.sync()
        self.filter.close()

    def _stat(self, call: str, name: str, *value: Any) -> None:
        if self.crawler.stats is not None:
            getattr(self.crawler.stats, call)(name, *value)


def import_requests_seen(path: str, into: Filter) -> int:
    """Add the fingerprints of Scrapy's requests.seen, one in hexadecimal a line. Returns how many were new."""
    with open(path, encoding="ascii") as lines:
        return into.add_many(bytes.fromhex(line.strip()) for line in lines if line.strip()).yes
