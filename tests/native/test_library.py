"""Where a module finds its compiled code, and when it does without."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
import sysconfig
from pathlib import Path

import pytest
import torch

from fsgc.native.library import address, library

COMPILER = shutil.which("g++")
SUFFIX = sysconfig.get_config_var("EXT_SUFFIX")


@pytest.fixture
def module(tmp_path: Path) -> Path:
    """A module that has a C++ file beside it; no library yet."""
    path = tmp_path / "doubling.py"
    path.with_suffix(".cpp").write_text(
        'extern "C" void twice(int n, float* x) { for (int i = 0; i < n; ++i) x[i] *= 2; }\n'
        "#ifdef SLOW\n"
        'extern "C" int fsgc_is_fast() { return 0; }\n'
        "#endif\n"
    )
    return path


def compile_it(module: Path, *flags: str) -> None:
    assert COMPILER is not None
    target = module.with_name(f"_{module.stem}{SUFFIX}")
    subprocess.run([COMPILER, *flags, "-shared", "-fPIC", module.with_suffix(".cpp"), "-o", target], check=True)


def test_without_a_library_there_is_none(module: Path) -> None:
    assert library(str(module)) is None


@pytest.mark.skipif(COMPILER is None, reason="no g++")
def test_a_library_is_found_and_works_on_tensors(module: Path) -> None:
    compile_it(module)
    found = library(str(module))
    assert found is not None
    x = torch.tensor([1.0, 2.0, 3.0])
    found.twice(3, address(x))
    assert x.tolist() == [2.0, 4.0, 6.0]


@pytest.mark.skipif(COMPILER is None, reason="no g++")
def test_a_library_that_says_it_is_slow_here_is_not_used(module: Path) -> None:
    compile_it(module, "-DSLOW")
    assert library(str(module)) is None


@pytest.mark.skipif(COMPILER is None, reason="no g++")
def test_the_environment_can_do_without(module: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    compile_it(module)
    monkeypatch.setenv("FSGC_NATIVE", "0")
    assert library(str(module)) is None


def test_a_damaged_library_is_not_used(module: Path) -> None:
    module.with_name(f"_{module.stem}{SUFFIX}").write_bytes(b"no library")
    assert library(str(module)) is None


def test_addresses_are_of_contiguous_arrays_of_the_host() -> None:
    x = torch.arange(4.0)
    assert address(x).value == x.data_ptr()
    assert address(None).value is None
    assert isinstance(address(x), ctypes.c_void_p)
    with pytest.raises(AssertionError, match="contiguous"):
        address(x[::2])
