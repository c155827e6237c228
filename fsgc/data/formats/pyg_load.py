"""Loading a file of PyG graphs with suspicion: nothing in it runs, grows or takes for ever.

`torch.load` with `weights_only=True` builds plain data and tensors only. It would still inflate compressed members to
any size, and hash nested tuples that hold one another twice for as long as their maker likes.
"""

from __future__ import annotations

import pickle
import pickletools
import re
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from fsgc.data import pickle_inspection as inspection
from fsgc.errors import DataFormatError

PER_GRAPH = 64
"""Numbers that a graph counts as by itself: what Python makes of one takes memory, too."""

_SPARE = 1 << 26
_TUPLE = "tuple"
_TUPLES = ("TUPLE", "TUPLE1", "TUPLE2", "TUPLE3")
_AGAIN = "load it and save it again with torch.save"


def room_of(file: Path) -> int:
    """How many numbers the graphs of a file may have together.

    A file has a byte or more for each of its numbers, but its maker may have them, and whole graphs, used again and
    again; some of that is normal, such as one `edge_index` for many graphs.
    """
    return 2 * file.stat().st_size + _SPARE


def load_graphs(file: Path) -> Iterator[Any]:
    """What a `.pt` file has as its graphs, one by one; that they are graphs is yet to be checked."""
    import torch
    from torch_geometric.data import Data
    from torch_geometric.data.data import DataEdgeAttr, DataTensorAttr
    from torch_geometric.data.storage import GlobalStorage

    _check_archive(file)
    # The classes that a pickled `Data` is made of: containers, none of which runs anything when it is filled.
    allowed = [Data, DataEdgeAttr, DataTensorAttr, GlobalStorage]
    try:
        with torch.serialization.safe_globals(allowed):
            content = torch.load(file, map_location="cpu", weights_only=True)
    except Exception as error:  # a damaged file makes the reader raise nearly anything
        found = re.search(r"GLOBAL (\S+)", str(error))
        reason = f"it contains {found.group(1)}" if found else type(error).__name__
        raise DataFormatError(f"cannot be loaded safely ({reason}); save a list of Data with torch.save") from error
    if isinstance(content, tuple) and len(content) in (2, 3, 4) and isinstance(content[1], dict):
        yield from _separated(content[0], content[1], room_of(file))
        return
    content = [content] if isinstance(content, Data) else content
    if not isinstance(content, list | tuple):
        raise DataFormatError(f"expected a list of torch_geometric Data, found {type(content).__name__}")
    yield from content


def _separated(data: Any, slices: Mapping[str, Any], room: int) -> Iterator[Any]:
    """The graphs of an `InMemoryDataset`, which are one after the other in every tensor."""
    from torch_geometric.data import Data
    from torch_geometric.data.separate import separate

    try:
        data = Data.from_dict(data) if isinstance(data, dict) else data
        count = len(next(iter(slices.values()))) - 1
        for graph in range(count if count * PER_GRAPH <= room else 0):
            yield separate(Data, data, graph, slices, decrement=False)
    except Exception as error:  # as above
        raise DataFormatError(f"the slices do not fit the data ({repr(error)[:200]})") from error
    if count * PER_GRAPH > room:
        raise DataFormatError(f"the slices tell of {count} graphs, more than a file of this size can hold")


def _check_archive(file: Path) -> None:
    """Refuse what is no archive of `torch.save`, what grows when it is read, and pickles that take for ever."""
    if not zipfile.is_zipfile(file):
        raise DataFormatError(f"cannot be loaded safely (it is no zip, as PyTorch has written since 1.6); {_AGAIN}")
    try:
        with zipfile.ZipFile(file) as archive:
            _check_members(archive.infolist(), file.stat().st_size)
            for member in archive.infolist():
                if member.filename.endswith(".pkl"):
                    _check_pickle(archive.read(member))
    except Exception as error:  # damaged archives and pickles make their readers raise nearly anything
        raise DataFormatError(f"cannot be loaded safely ({str(error)[:200]}); {_AGAIN}") from error


def _check_members(members: Sequence[zipfile.ZipInfo], size: int) -> None:
    if any(member.compress_type != zipfile.ZIP_STORED for member in members):
        raise ValueError("a member is compressed")
    if sum(member.file_size for member in members) > size:
        raise ValueError("members overlap")
    if len({member.filename for member in members}) < len(members):
        raise ValueError("two members have one name")


class _Program(inspection._Program):
    """The pickle of graphs, which has objects that `fsgc.data.pickle_inspection` admits nowhere else.

    Graphs may share lists and flat tuples, but a tuple that holds others must not be used twice: with each level of
    those, its hash takes twice as long.
    """

    def follow(self, name: str, argument: Any) -> None:
        super().follow(name, argument)
        if name in _TUPLES:
            self.stack[-1].kind = _TUPLE

    def _make(self, name: str) -> None:
        # What `NEWOBJ` makes of a class and its arguments, `REDUCE` would make of a function and its.
        super()._make("REDUCE" if name == "NEWOBJ" else name)

    def _recall(self, index: int) -> None:
        item = self.memo[index]
        if item.kind == _TUPLE and item.depth > 1:
            raise ValueError("uses a tuple of tuples twice, which is not admitted")
        self._push(item)


def _check_pickle(data: bytes) -> None:
    """Follow a pickle without running it; see `fsgc.data.pickle_inspection`."""
    program = _Program(len(data), persistent=True)
    for operation, argument, position in pickletools.genops(data):
        try:
            program.follow(operation.name, argument)
        except (LookupError, ValueError) as error:
            raise pickle.UnpicklingError(f"operation {operation.name} at byte {position} {error}") from error
