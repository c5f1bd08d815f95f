"""A filter that a server of Redis or Valkey with the module of Bloomery serves, as one key or as many.

    import redis, bloomery.redis

    seen = bloomery.redis.SharedFilter(redis.Redis("crawl-1"), "seen")
    seen.create(100_000_000, 1e-6)              # if there is none
    if seen.claim("https://example.org/"):      # True for exactly one of all clients and local processes
        fetch("https://example.org/")
    new = seen.claim_many(urls)

A filter that is larger than one node of a cluster has shards: keys "seen:0" to "seen:63", which a cluster spreads over
its nodes. All clients must give the same number of shards.

    seen = bloomery.redis.SharedFilter(redis.cluster.RedisCluster("crawl-1"), "seen", shards=64)

Key k belongs to shard crc32(k) * shards >> 32, by the CRC-32 of zlib, which every language has. A claim then goes to one
node. Needs the package redis.
"""
import zlib
from itertools import islice
from typing import Any, Iterable, Iterator, List, Optional, Sequence, Union

from . import Answers

Key = Union[str, bytes, bytearray, memoryview, int]
BATCH = 1000    # keys of one command: few enough to keep no other client waiting


def key_bytes(key: Key) -> bytes:
    """The bytes of a key, by the rules of bloomery.Filter."""
    if isinstance(key, str):
        return key.encode()
    if isinstance(key, (bytes, bytearray)):
        return bytes(key)
    if isinstance(key, memoryview) and key.format in "cbB" and key.ndim <= 1:
        return key.tobytes()
    if isinstance(key, int) and not isinstance(key, bool):
        return key.to_bytes(8, "little", signed=True)
    raise TypeError(f"a key is str, bytes-like or int, not {type(key)!r}; encode it yourself")


class SharedFilter:
    """A filter in the keys of a server or a cluster. `client` is a redis.Redis or a redis.cluster.RedisCluster.

    Errors are the client's. An exception that ends a batch has the answers of the other shards in `answers`: what was
    claimed there is claimed. `undone` are the numbers of the keys whose answer is not known, because their shard failed.
    A client that asks once more after a lost connection may have claimed the key the first time: then no client
    gets the answer that the key is new.
    """

    def __init__(self, client: Any, name: str, shards: int = 1) -> None:
        if not 1 <= shards <= 16384:
            raise ValueError(f"shards: 1 to 16384, not {shards}")
        if "{" in name and shards > 1:
            raise ValueError(f'name: "{name}" has a hash tag, which puts all shards on one node; leave the braces out')
        if _decodes(client):
            raise ValueError("client: answers are bits, which decode_responses=True takes for text; use a client without it")
        self.client, self.name, self.shards = client, name, shards

    def key(self, shard: int) -> str:
        """The name of a shard on the server."""
        return self.name if self.shards == 1 else f"{self.name}:{shard}"

    def shard_of(self, key: Key) -> int:
        """The shard that a key belongs to."""
        return zlib.crc32(key_bytes(key)) * self.shards >> 32

    def create(self, capacity: int, rate: float = 0.01, kind: Optional[str] = None, options: Optional[str] = None) -> int:
        """Create the shards that are missing, for `capacity` keys together. Returns how many that were.

        Keys fall into shards as chance has it, so each shard has room for four standard deviations more than its part.
        """
        part = -(-capacity // self.shards)
        part += 0 if self.shards == 1 else int(4 * part ** 0.5) + 1
        more = [*(["KIND", kind] if kind else []), *(["OPTIONS", options] if options else [])]
        made = 0
        for shard in range(self.shards):
            try:
                self.client.execute_command("BLM.CREATE", self.key(shard), "CAPACITY", part, "RATE", repr(rate), *more)
                made += 1
            except Exception as error:
                if "exists" not in str(error):
                    raise
        return made

    # ---- Keys ----

    def claim(self, key: Key) -> bool:
        """Add a key. True for the caller that was the first."""
        return self.claim_many([key])[0]

    def add(self, key: Key) -> bool:
        """Add a key. True if the filter changed."""
        return self.add_many([key])[0]

    def __contains__(self, key: Key) -> bool:
        return self.contains_many([key])[0]

    def remove(self, key: Key) -> bool:
        """Take a key out. True if it was there."""
        return self.remove_many([key])[0]

    def claim_many(self, keys: Iterable[Key]) -> Answers:
        """Claim many keys; of equal ones in a batch the first is claimed. Yes: this caller was the first."""
        return self._many("BLM.CLAIM", keys)

    def add_many(self, keys: Iterable[Key]) -> Answers:
        """Add many keys. Yes: the filter changed."""
        return self._many("BLM.ADD", keys)

    def contains_many(self, keys: Iterable[Key]) -> Answers:
        """Ask for many keys. No is certain, yes is wrong at the filter's rate."""
        return self._many("BLM.TEST", keys)

    def remove_many(self, keys: Iterable[Key]) -> Answers:
        """Take many keys out, in kinds that can. Yes: the key was there."""
        return self._many("BLM.REMOVE", keys)

    def _many(self, command: str, keys: Iterable[Key]) -> Answers:
        bits, yes, count = bytearray(), 0, 0
        every = iter([key_bytes(key) for key in keys])    # a key of another type fails before the first is sent
        while True:
            round_ = list(islice(every, BATCH * self.shards))
            if not round_:
                return Answers(yes, bytes(bits), count)
            bits += bytes((count + len(round_) + 7) // 8 - len(bits))
            try:
                yes += self._round(command, round_, count, bits)
            except Exception as error:
                yes += getattr(error, "_yes", 0)
                left = range(count + len(round_), count + len(round_) + len(list(every)))
                error.undone = [*getattr(error, "undone", range(count, count + len(round_))), *left]  # type: ignore[attr-defined]
                total = count + len(round_) + len(left)
                error.answers = Answers(yes, bytes(bits) + bytes((total + 7) // 8 - len(bits)), total)  # type: ignore[attr-defined]
                raise
            count += len(round_)

    def _round(self, command: str, keys: Sequence[bytes], first: int, bits: bytearray) -> int:
        """A command for each shard that has keys of these, all sent at once. Sets their bits, and returns how many."""
        parts: List[List[int]] = [[] for _ in range(self.shards)]
        for i, key in enumerate(keys):
            parts[self.shard_of(key)].append(i)
        sent = [(shard, part[at:at + BATCH]) for shard, part in enumerate(parts) for at in range(0, len(part), BATCH)]
        replies: List[Any]
        if len(sent) == 1:
            replies = [self.client.execute_command(command, self.key(sent[0][0]), *keys)]
        else:
            pipeline = self.client.pipeline(transaction=False) if self.shards == 1 else self._pipeline()
            for shard, part in sent:
                pipeline.execute_command(command, self.key(shard), *(keys[i] for i in part))
            replies = pipeline.execute(raise_on_error=False)
        yes, failed, undone = 0, None, []
        for (_, part), reply in zip(sent, replies):
            if isinstance(reply, Exception):
                failed = failed or reply
                undone += [first + i for i in part]
                continue
            for place in _ones(reply, len(part)):
                bits[first + part[place] >> 3] |= 1 << (first + part[place] & 7)
                yes += 1
        if failed is not None:
            failed._yes, failed.undone = yes, sorted(undone)  # type: ignore[attr-defined]
            raise failed
        return yes

    def _pipeline(self) -> Any:
        return self.client.pipeline() if hasattr(self.client, "nodes_manager") else self.client.pipeline(transaction=False)

    # ---- The whole filter ----

    def __len__(self) -> int:
        """How many keys all shards hold."""
        return sum(int(self.client.execute_command("BF.CARD", self.key(shard))) for shard in range(self.shards))

    def __bool__(self) -> bool:
        return True

    def sync(self) -> None:
        """Make all keys of the files durable, where the server has a store."""
        for shard in range(self.shards):
            self.client.execute_command("BLM.SYNC", self.key(shard))


def _decodes(client: Any) -> bool:
    encoder = client.encoder if hasattr(client, "nodes_manager") else client.connection_pool.get_encoder()
    return bool(encoder.decode_responses)


def _ones(bitmap: bytes, count: int) -> Iterator[int]:
    for i in range(count):
        if bitmap[i >> 3] >> (i & 7) & 1:
            yield i
