"""Bloomery: filters of the Bloom family in memory-mapped files that many processes share.

    import bloomery

    seen = bloomery.Filter.open_or_create("seen.blm", 10_000_000, 1e-6)
    if seen.claim("https://example.org/"):      # True in exactly one of all processes
        fetch("https://example.org/")
    "https://example.org/" in seen              # False is certain
    new = seen.claim_many(urls)                 # many keys are many times as fast
    list(new.select(urls))

Filter has the calls on one filter, Store those on a directory of filters. bloomery.compat.pybloomfilter has the calls of
pybloomfiltermmap3, bloomery.scrapy a DUPEFILTER_CLASS for Scrapy.
"""
from . import _core
from ._answers import Answers
from ._errors import (Ambiguous, Closed, Damaged, Error, Exists, Full, InvalidParameter, KeyMissing, KeyRemoved,
                      NotAFilter, NotFound, NotPermitted, ReadOnly, Stale, TemplateMismatch, Unsupported)
from ._filter import Comparison, DifferentParameters, Estimate, Filter, Finding, Info, Plan, Value, plan
from ._store import Store

__version__: str = _core.VERSION
__all__ = ["Ambiguous", "Answers", "Closed", "Comparison", "Damaged", "DifferentParameters", "Error", "Estimate",
           "Exists", "Filter", "Finding", "Full", "Info", "InvalidParameter", "KeyMissing", "KeyRemoved", "NotAFilter",
           "NotFound", "NotPermitted", "Plan", "ReadOnly", "Stale", "Store", "TemplateMismatch", "Unsupported", "Value",
           "plan"]
