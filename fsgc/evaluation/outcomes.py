"""`Outcomes`: which queries of which test episode were answered correctly, in a file small enough for git.

The file is a line of JSON and a compressed bit per query, some 10 to 25 kB for 5000 episodes. The line holds what it
takes to draw the test episodes again (`EpisodeStream`), so that everything that depends on *which* graphs were supports
and queries, intervals over graphs above all, can be computed from these files alone: no dataset, no stored episodes.
"""

from __future__ import annotations

import hashlib
import json
import lzma
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from fsgc.episodes.sampling import sample_episodes, stream_key
from fsgc.errors import SettingsError, StoreError
from fsgc.files import replacing
from fsgc.statistics.confusion import Counts, Scores, class_confusion
from fsgc.statistics.draw import Draw
from fsgc.statistics.intervals import Floats

if TYPE_CHECKING:  # it loads PyTorch, which reading outcomes does without
    from fsgc.episodes.batches import Episodes

OUTCOMES = "outcomes.bin"  # the file of a result
KIND = "fsgc.outcomes"
VERSION = 1
Bools = npt.NDArray[np.bool_]

# Bits that are mostly alike: literal coding without context of the byte before comes nearest to their entropy.
_LZMA: list[dict[str, Any]] = [{"id": lzma.FILTER_LZMA2, "preset": 9 | lzma.PRESET_EXTREME, "lc": 0, "lp": 0, "pb": 0}]


@dataclass(frozen=True)
class EpisodeStream:
    """Everything that decides which graphs meet in an episode, the graphs being known by class and rank alone.

    Attributes:
        key: names the stream of random numbers, see `fsgc.episodes.sampling.stream_key`.
        sizes: how many graphs each novel class has, in the order of the split.
        episodes: E.
        way: N.
        shots: K.
        queries: Q.
    """

    key: tuple[str | int, ...]
    sizes: tuple[int, ...]
    episodes: int
    way: int
    shots: int
    queries: int

    @classmethod
    def of(cls, episodes: Episodes) -> EpisodeStream:
        """The stream of the stored test episodes; a `StoreError` if they do not come from it."""
        store, split = episodes.store, episodes.split
        pools = split.pools(episodes.graphs.y, "test").values()
        queries = store.queries("test")
        key = stream_key(split.dataset, "test", store.way, store.shots, queries, store.settings.test_seed)
        sizes = tuple(len(pool) for pool in pools)
        stream = cls(key, sizes, store.settings.test, store.way, store.shots, queries)
        if not np.array_equal(np.concatenate(list(pools))[stream.draw().graphs], store.test):
            raise StoreError(f"{store.path} holds other test episodes than are drawn now; delete it to draw it again")
        return stream

    def draw(self) -> Draw:
        """The episodes; drawn once per process, in a few hundredths of a second."""
        return _draw(self)


@lru_cache(maxsize=32)
def _draw(stream: EpisodeStream) -> Draw:
    sizes = np.array(stream.sizes)
    pools = [np.arange(size) + first for size, first in zip(sizes, np.cumsum(sizes) - sizes, strict=True)]
    graphs = sample_episodes(pools, stream.episodes, stream.way, stream.shots + stream.queries, stream.key)
    graphs.flags.writeable = False  # shared by all who ask
    return Draw(graphs, stream.shots, sizes)


@dataclass(frozen=True, eq=False)
class Outcomes:
    """Which queries of which test episode a model answered correctly.

    Attributes:
        correct: `[E, N·Q]`.
        stream: how the episodes are drawn.
        test_episodes: the fingerprint of the episodes and their graphs, `Episodes.test_fingerprint`.
        classes: the ids of the novel classes, in the order of `stream.sizes`.
        confusion: `[C, C]`, true class by row, predicted class by column, over all queries.
    """

    correct: Bools
    stream: EpisodeStream
    test_episodes: str
    classes: tuple[int, ...]
    confusion: Counts

    @classmethod
    def of(cls, scores: Scores, episodes: Episodes) -> Outcomes:
        """The outcomes of scores `[E, N·Q, N]` of the stored test episodes."""
        stream = EpisodeStream.of(episodes)
        classes = tuple(int(c) for c in episodes.split.novel)
        truth = np.repeat(np.arange(stream.way), stream.queries)
        confusion = class_confusion(scores, stream.draw().classes, len(classes))
        return cls(scores.argmax(axis=2) == truth, stream, episodes.test_fingerprint(), classes, confusion)

    def graphs(self) -> npt.NDArray[np.int32]:
        """The graphs of every episode, `[E, N, K+Q]`: a graph's rank in its class plus the sizes of earlier classes."""
        return np.asarray(self.draw().graphs, dtype=np.int32)

    def draw(self) -> Draw:
        """The graphs of every episode with what the statistics need besides."""
        return self.stream.draw()

    @property
    def accuracy(self) -> Floats:
        """The accuracy of every episode, `[E]`."""
        return np.asarray(self.correct.mean(axis=1), dtype=np.float64)

    def save(self, path: Path) -> None:
        """Write the file; an existing one is replaced in one step."""
        stream = self.stream
        order, codec, payload = _pack(self.correct, stream)
        header = {
            "kind": KIND,
            "version": VERSION,
            "shape": list(self.correct.shape),
            "way": stream.way,
            "shots": stream.shots,
            "queries": stream.queries,
            "key": list(stream.key),
            "classes": list(self.classes),
            "sizes": list(stream.sizes),
            "test_episodes": self.test_episodes,
            "confusion": self.confusion.tolist(),
            "order": order,
            "codec": codec,
        }
        with replacing(path) as partial:
            partial.write_bytes(_line({**header, "sha256": _digest(header, payload)}) + b"\n" + payload)

    @classmethod
    def load(cls, path: Path) -> Outcomes:
        """Read and check a file written by `save`."""
        header, payload = read_outcomes(path)
        try:
            return cls._from(header, payload)
        except (ValueError, KeyError, TypeError, AttributeError, SettingsError, lzma.LZMAError, RuntimeError) as error:
            raise StoreError(f"{path} is damaged ({error!r}); evaluate the model again") from error

    @classmethod
    def _from(cls, header: dict[str, Any], payload: bytes) -> Outcomes:
        episodes, queries = header["shape"]
        names = ("way", "shots", "queries")
        stream = EpisodeStream(
            tuple(header["key"]), tuple(header["sizes"]), episodes, **{name: header[name] for name in names}
        )
        if queries != stream.way * stream.queries:
            raise ValueError(f"{queries} outcomes of {stream.way} classes with {stream.queries} queries")
        confusion = np.array(header["confusion"], dtype=np.int64).reshape((len(stream.sizes),) * 2)
        correct = _unpack(payload, header["order"], header["codec"], stream)
        return cls(correct, stream, header["test_episodes"], tuple(header["classes"]), confusion)


def read_outcomes(path: Path) -> tuple[dict[str, Any], bytes]:
    """The header and the packed outcomes of a file, checked against its digest but not yet unpacked."""
    try:
        line, _, payload = path.read_bytes().partition(b"\n")
    except FileNotFoundError:
        raise StoreError(f"{path} does not exist; evaluate the model to write it") from None
    except OSError as error:
        raise StoreError(f"{path} cannot be read ({error})") from error
    try:
        header: dict[str, Any] = json.loads(line)
        if (header.get("kind"), header.get("version")) != (KIND, VERSION):
            raise StoreError(f"{path} does not hold outcomes of this version of fsgc; evaluate the model again")
        if header.pop("sha256", None) != _digest(header, payload):
            raise StoreError(f"{path} is damaged (its SHA-256 is another); evaluate the model again")
    except (ValueError, TypeError, AttributeError) as error:
        raise StoreError(f"{path} is damaged ({error!r}); evaluate the model again") from error
    return header, payload


def _line(header: dict[str, Any]) -> bytes:
    return json.dumps(header, separators=(",", ":")).encode()


def _digest(header: dict[str, Any], payload: bytes) -> str:
    return hashlib.sha256(_line(header) + b"\n" + payload).hexdigest()


@lru_cache(maxsize=32)
def _by_graph(stream: EpisodeStream) -> npt.NDArray[np.intp]:
    """The queries in the order of their graphs.

    Most graphs are nearly always right or nearly always wrong. In this order like outcomes stand together, which saves
    up to two fifths of the file.
    """
    return np.argsort(stream.draw().query.reshape(-1), kind="stable")


def _codecs() -> dict[str, tuple[Callable[[bytes], bytes], Callable[[bytes], bytes]]]:
    from numcodecs import zstd

    return {
        "lzma": (
            lambda raw: lzma.compress(raw, format=lzma.FORMAT_RAW, filters=_LZMA),
            lambda packed: lzma.decompress(packed, format=lzma.FORMAT_RAW, filters=_LZMA),
        ),
        "zstd": (lambda raw: bytes(zstd.compress(raw, 19)), lambda packed: bytes(zstd.decompress(packed))),
    }


def _pack(correct: Bools, stream: EpisodeStream) -> tuple[str, str, bytes]:
    """The order, the codec and the bytes of the smallest way to write the outcomes."""
    flat = correct.reshape(-1)
    orders = {"episodes": flat, "graphs": flat[_by_graph(stream)]}
    packed = [
        (order, codec, compress(np.packbits(bits).tobytes()))
        for order, bits in orders.items()
        for codec, (compress, _) in _codecs().items()
    ]
    return min(packed, key=lambda way: len(way[2]))


def _unpack(payload: bytes, order: str, codec: str, stream: EpisodeStream) -> Bools:
    count = stream.episodes * stream.way * stream.queries
    bits = np.frombuffer(_codecs()[codec][1](payload), dtype=np.uint8)
    flat = np.unpackbits(bits, count=count).astype(bool)
    if order == "graphs":
        ordered, flat = flat, np.empty(count, dtype=bool)
        flat[_by_graph(stream)] = ordered
    return flat.reshape(stream.episodes, -1)
