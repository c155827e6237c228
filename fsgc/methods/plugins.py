"""Methods from outside the package: a file of the user's, `my_file.py:MyMethod`, or an installed package.

A package offers methods by entry points of the group `fsgc.methods`: `my_method = "my_package.module:MyMethod"`.

Loading a file runs it. It is loaded only if the user has named it, on the command line, in `params.yaml` or in Python;
a model file that names one must not have it run.
"""

from __future__ import annotations

import hashlib
import importlib.util
import inspect
import re
import sys
import traceback
from importlib import import_module
from importlib.machinery import SourceFileLoader
from importlib.metadata import entry_points
from pathlib import Path
from types import CodeType, ModuleType
from typing import TYPE_CHECKING

from fsgc.errors import SettingsError

if TYPE_CHECKING:
    from fsgc.methods.contract import Method

GROUP = "fsgc.methods"
_FILE = re.compile(r"(?P<file>[^:\x00-\x1f]{1,300}\.py):(?P<name>[A-Za-z_][A-Za-z0-9_]{0,99})")
_named: dict[str, str] = {}  # `file.py:Class` without folders -> as the user named it


def is_file(name: str) -> bool:
    """Whether a method is named by its file, `file.py:Class`."""
    return _FILE.fullmatch(name) is not None


def named_by_user(name: str) -> None:
    """Remember that the user has named a method's file."""
    _named[Path(name).name] = name


def as_named(name: str) -> str:
    """A method that a model file names, as the user has named it; one that the user has not named is refused."""
    if not is_file(name):
        return name
    if Path(name).name not in _named:
        raise SettingsError(
            f"it was trained with {name}, which is code in a file and is not run unless you name it: give the option "
            f"--method {name}, if you trust that file"
        )
    return _named[Path(name).name]


def installed() -> dict[str, str]:
    """The methods of installed packages: name -> `module:Class`."""
    return {point.name: point.value for point in entry_points(group=GROUP)}


def load(path: str) -> type[Method]:
    """The class at `module:Class` or `file.py:Class`."""
    from fsgc.methods.contract import Method

    module_name, _, name = path.rpartition(":")
    module = _of_file(Path(module_name)) if is_file(path) else _of_package(module_name, path)
    found = getattr(module, name, None)
    if found is None:
        classes = [n for n, c in vars(module).items() if inspect.isclass(c) and c.__module__ == module.__name__]
        raise SettingsError(f"model: {module_name} has no {name}; its classes are {', '.join(classes) or 'none'}")
    if not inspect.isclass(found) or not issubclass(found, Method):
        raise SettingsError(f"model: {path} is not a method: derive it from fsgc.methods.contract.Method")
    missing = sorted(getattr(found, "__abstractmethods__", ()))
    missing += [field for field in ("settings_type", "section") if not hasattr(found, field)]
    if missing:
        raise SettingsError(f"model: {path} lacks {', '.join(missing)}; see fsgc.methods.contract.Method")
    return found


def section_of(method: type[Method]) -> str:
    """The section of `params.yaml`: that of a method of the package if it inherits one, else below `plugins`."""
    home = next(each for each in method.__mro__ if "section" in vars(each))
    return method.section if home.__module__.startswith("fsgc.") else f"plugins.{method.section}"


def _of_package(module: str, path: str) -> ModuleType:
    try:
        return import_module(module)
    except Exception as error:  # a package of somebody else's may raise anything
        raise SettingsError(f"model: {path} cannot be loaded ({type(error).__name__}: {error})") from error


class _WithoutCache(SourceFileLoader):
    """Reads a file as it is now: Python's cache does not see two changes of the same length within a second."""

    def get_code(self, _fullname: str) -> CodeType:
        code: CodeType = self.source_to_code(self.get_data(self.path), self.path)
        return code


def _of_file(file: Path) -> ModuleType:
    """The module of a file, loaded once for each of its versions."""
    try:
        source = file.read_bytes()
    except OSError as error:
        raise SettingsError(f"model: {file} cannot be read ({error.strerror}); name a file of yours") from error
    name = f"fsgc_plugin_{hashlib.sha256(str(file.resolve()).encode() + source).hexdigest()[:16]}"
    if name in sys.modules:
        return sys.modules[name]
    loader = _WithoutCache(name, str(file))
    spec = importlib.util.spec_from_file_location(name, file, loader=loader)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # dataclasses look their module up while they are made
    try:
        loader.exec_module(module)
    except Exception as error:  # a user's file may raise anything
        del sys.modules[name]
        raise SettingsError(f"model: {_place(error, file)}: {type(error).__name__}: {error}") from error
    return module


def _same(name: str, file: Path) -> bool:
    return Path(name).resolve() == file.resolve()


def _place(error: Exception, file: Path) -> str:
    """The line of a user's file at which an error came about."""
    if isinstance(error, SyntaxError) and error.lineno:
        return f"{file}, line {error.lineno}"
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if _same(frame.filename, file)]
    return f"{file}, line {lines[-1]}" if lines else str(file)
