"""Looking through a pickle before it is run.

A pickle is a program for a machine with a stack and a memo. A few of its bytes can name a function, stand for
gigabytes, or build tuples whose hash takes for ever. Here the program is followed without running it: each operation
must be one that plain data needs, and what it builds is followed by kind and depth alone.
"""

from __future__ import annotations

import pickle
import pickletools
from dataclasses import dataclass
from typing import Any, Final

_DEEPEST = 32
_MARK: Final = "mark"
_NUMBER, _TEXT, _GLOBAL, _OBJECT, _CONTAINER = "number", "text", "global", "object", "container"
_SPOKEN = {_GLOBAL: "a named function", _OBJECT: "what a function made", _CONTAINER: "a container"}
_PUSHED = {
    **dict.fromkeys(
        ("NONE", "NEWTRUE", "NEWFALSE", "INT", "BININT", "BININT1", "BININT2", "LONG", "LONG1", "LONG4", "FLOAT",
         "BINFLOAT"),
        _NUMBER,
    ),
    **dict.fromkeys(
        ("STRING", "BINSTRING", "SHORT_BINSTRING", "BINBYTES", "SHORT_BINBYTES", "BINBYTES8", "UNICODE", "BINUNICODE",
         "SHORT_BINUNICODE", "BINUNICODE8"),
        _TEXT,
    ),
    **dict.fromkeys(("EMPTY_LIST", "EMPTY_DICT", "EMPTY_SET", "EMPTY_TUPLE"), _CONTAINER),
    "GLOBAL": _GLOBAL,
    "MARK": _MARK,
}  # fmt: skip
_GATHERED = {"LIST": None, "DICT": None, "TUPLE": None, "FROZENSET": None, "TUPLE1": 1, "TUPLE2": 2, "TUPLE3": 3}
_ADDED = {"APPEND": 1, "SETITEM": 2, "APPENDS": None, "SETITEMS": None, "ADDITEMS": None}
_PUTS, _GETS = ("PUT", "BINPUT", "LONG_BINPUT", "MEMOIZE"), ("GET", "BINGET", "LONG_BINGET")


@dataclass
class _Item:
    """What is known of an object: its kind, how deep it is nested, how long a text it is."""

    kind: str
    depth: int = 0
    length: int = 0


def inspect(data: bytes, persistent: bool = False) -> None:
    """Follow the program without running it; refuse what could call code, exhaust memory or take for ever.

    Containers may not be used twice: each level that holds the one below it twice doubles what a hash or a copy has to
    visit. With that, work is bounded by the length of the program.

    Args:
        data: the pickle.
        persistent: whether it may refer to things outside, as those of `torch.save` do.

    Raises:
        pickle.UnpicklingError: it is refused; the message names the byte. Other errors mean a malformed pickle.
    """
    program = _Program(len(data), persistent)
    for operation, argument, position in pickletools.genops(data):
        try:
            program.follow(operation.name, argument)
        except (LookupError, ValueError) as error:
            raise pickle.UnpicklingError(f"operation {operation.name} at byte {position} {error}") from error


class _Program:
    def __init__(self, size: int, persistent: bool) -> None:
        self.persistent = persistent
        self.stack: list[_Item] = []
        self.memo: dict[int, _Item] = {}
        self.count = 0
        self.spare = 16 * size + 65_536  # characters that repeated texts may amount to

    def follow(self, name: str, argument: Any) -> None:
        self.count += 1
        if name in _PUSHED:
            length = len(argument) if isinstance(argument, str | bytes) else 0
            self._push(_Item(_PUSHED[name], int(_PUSHED[name] == _CONTAINER), length))
        elif name in _GATHERED:
            self._push(_Item(_CONTAINER, 1 + _depth(self._pop(_GATHERED[name]))))
        elif name in _ADDED:
            depth = 1 + _depth(self._pop(_ADDED[name]))
            # The dictionaries of `torch.save` are made by a call.
            container = self._top(_CONTAINER, *([_OBJECT] if self.persistent else []))
            container.depth = max(container.depth, depth)
            _check_depth(container)
        elif name in _PUTS:
            self._remember(len(self.memo) if argument is None else argument)
        elif name in _GETS:
            self._recall(argument)
        else:
            self._make(name)

    def _make(self, name: str) -> None:
        """Operations that name, call or complete an object."""
        if name == "STACK_GLOBAL":
            self._pop(2)
            self._push(_Item(_GLOBAL))
        elif name == "REDUCE":
            depth = _depth(self._pop(1))
            self._top(_GLOBAL)
            self._pop(1)
            self._push(_Item(_OBJECT, 1 + depth))
        elif name == "BUILD":
            self._pop(1)
            self._top(_OBJECT)
        elif name == "BINPERSID" and self.persistent:
            self._pop(1)
            self._push(_Item(_OBJECT, 1))
        elif name not in ("PROTO", "FRAME", "STOP"):
            raise ValueError("is not admitted")

    def _push(self, item: _Item) -> None:
        _check_depth(item)
        self.stack.append(item)

    def _pop(self, count: int | None) -> list[_Item]:
        """The topmost items: so many, or all above the mark, which goes too."""
        if count is None:
            start = len(self.stack) - 1
            while self.stack[start].kind != _MARK:
                start -= 1
                if start < 0:
                    raise ValueError("finds no mark")
            items = self.stack[start + 1 :]
            del self.stack[start:]
            return items
        items = self.stack[-count:]
        if len(items) < count or any(item.kind == _MARK for item in items):
            raise ValueError("finds too little on the stack")
        del self.stack[-count:]
        return items

    def _top(self, *kinds: str) -> _Item:
        if not self.stack or self.stack[-1].kind not in kinds:
            raise ValueError(f"on anything but {_SPOKEN[kinds[0]]} is not admitted")
        return self.stack[-1]

    def _remember(self, index: int) -> None:
        if index > self.count:  # the C reader allocates its memo up to the largest index named
            raise ValueError(f"with the memo index {index} is out of order")
        if not self.stack or self.stack[-1].kind == _MARK:
            raise ValueError("finds nothing to remember")
        self.memo[index] = self.stack[-1]

    def _recall(self, index: int) -> None:
        if index not in self.memo:
            raise ValueError("asks for what was not remembered")
        item = self.memo[index]
        if item.kind == _CONTAINER:
            raise ValueError("uses a container twice, which is not admitted")
        self.spare -= item.length
        if self.spare < 0:
            raise ValueError("repeats texts to many times the size of the file, which is not admitted")
        self._push(item)


def _depth(items: list[_Item]) -> int:
    return max((item.depth for item in items), default=0)


def _check_depth(item: _Item) -> None:
    if item.depth > _DEEPEST:
        raise ValueError(f"nests more than {_DEEPEST} levels deep, which is not admitted")
