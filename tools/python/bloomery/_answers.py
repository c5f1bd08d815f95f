"""The answers to many keys."""
from typing import Iterable, Iterator, TypeVar

T = TypeVar("T")


class Answers:
    """One answer for each key of a batch, in their order.

    `len(a)` is the number of keys, `a.yes` how many answers are yes, `a.bits` the bitmap: bit i % 8 of byte i // 8 is
    key i's answer. Iterating gives bools.
    """

    __slots__ = ("yes", "bits", "_count")

    def __init__(self, yes: int, bits: bytes, count: int) -> None:
        self.yes, self.bits, self._count = yes, bits, count

    def __len__(self) -> int:
        return self._count

    def __getitem__(self, i: int) -> bool:
        if not -self._count <= i < self._count:
            raise IndexError("there is no key of that number in the batch")
        i %= self._count
        return bool(self.bits[i >> 3] >> (i & 7) & 1)

    def __iter__(self) -> Iterator[bool]:
        left = self._count
        for byte in self.bits:
            for i in range(min(left, 8)):
                yield bool(byte >> i & 1)
            left -= 8

    def select(self, keys: Iterable[T]) -> Iterator[T]:
        """Those of the keys whose answer is yes."""
        return (key for key, yes in zip(keys, self) if yes)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Answers):
            return self._count == other._count and self.bits == other.bits
        return NotImplemented

    def __repr__(self) -> str:
        return f"<Answers: {self.yes} of {self._count} are yes>"
