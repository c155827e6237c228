"""Where a module finds its compiled code, and when it does without."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
import sysconfig
from pathlib import Path

import pytest
import torch

from fsgc.errors import FsgcError
from fsgc.native.library import address, library
from fsgc.native.sources import library_name

COMPILER = shutil.which("g++")
SUFFIX = sysconfig.get_config_var("EXT_SUFFIX")


@pytest.fixture
def module(tmp_path: Path) -> Path:
    """A module that has a C++ file beside it; no library yet."""
    path = tmp_path / "doubling.py"
    path.with_suffix(".cpp").write_text(
        'extern "C" void twice(int n, float* x) { for (int i = 0; i < n; ++i) x[i] *= 2; }\n'
        "#ifndef RUNS_HERE\n"
        "#define RUNS_HERE 1\n"
        "#endif\n"
        'extern "C" int fsgc_runs_here() { return RUNS_HERE; }\n'
        "#ifdef FSGC_AVX2\n"
        'extern "C" int is_for_avx2() { return 1; }\n'
        "#endif\n"
    )
    return path


def compile_it(module: Path, *flags: str, processor: str = "avx512") -> None:
    assert COMPILER is not None
    target = module.with_name(library_name(module.with_suffix(".cpp"), processor) + SUFFIX)
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
def test_a_library_that_does_not_run_here_is_not_used(module: Path) -> None:
    compile_it(module, "-DRUNS_HERE=0")
    assert library(str(module)) is None


@pytest.mark.skipif(COMPILER is None, reason="no g++")
@pytest.mark.parametrize(("fast_runs", "wanted", "is_other"), [(1, "1", False), (0, "1", True), (1, "avx2", True)])
def test_the_fastest_library_that_runs_is_taken_unless_another_is_wanted(
    module: Path, monkeypatch: pytest.MonkeyPatch, fast_runs: int, wanted: str, is_other: bool
) -> None:
    compile_it(module, f"-DRUNS_HERE={fast_runs}")
    compile_it(module, "-DFSGC_AVX2", processor="avx2")
    monkeypatch.setenv("FSGC_NATIVE", wanted)
    found = library(str(module))
    assert found is not None
    assert hasattr(found, "is_for_avx2") == is_other


def test_an_unknown_wish_is_an_error_that_names_the_known_ones(module: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FSGC_NATIVE", "sse")
    with pytest.raises(FsgcError, match=r"FSGC_NATIVE must be 0, 1, avx512 or avx2, got 'sse'"):
        library(str(module))


@pytest.mark.skipif(COMPILER is None, reason="no g++")
def test_the_environment_can_do_without(module: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    compile_it(module)
    monkeypatch.setenv("FSGC_NATIVE", "0")
    assert library(str(module)) is None


def test_a_damaged_library_is_not_used(module: Path) -> None:
    module.with_name(library_name(module.with_suffix(".cpp"), "avx512") + SUFFIX).write_bytes(b"no library")
    assert library(str(module)) is None


@pytest.mark.skipif(COMPILER is None, reason="no g++")
@pytest.mark.parametrize("changed", ["doubling.cpp", "factor.h", "deep.h"])
def test_a_library_of_an_older_source_is_not_used(module: Path, changed: str) -> None:
    """Its functions may take other arguments, or compute something else."""
    source = module.with_suffix(".cpp")
    source.write_text('#include "factor.h"\n' + source.read_text())
    module.with_name("factor.h").write_text('#include "deep.h"\n')
    module.with_name("deep.h").write_text("// nothing\n")
    compile_it(module)
    before = library_name(source, "avx512")
    file = module.with_name(changed)
    file.write_text(file.read_text() + "// edited\n")
    assert library_name(source, "avx512") != before
    assert library(str(module)) is None


@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16, torch.float16])
def test_numbers_of_another_precision_are_not_read_as_if_they_were_single(dtype: torch.dtype) -> None:
    with pytest.raises(AssertionError, match=f"takes no arrays of {dtype}"):
        address(torch.zeros(3, dtype=dtype))


def test_addresses_are_of_contiguous_arrays_of_the_host() -> None:
    x = torch.arange(4.0)
    assert address(x).value == x.data_ptr()
    assert address(None).value is None
    assert isinstance(address(x), ctypes.c_void_p)
    with pytest.raises(AssertionError, match="contiguous"):
        address(x[::2])
