"""Files of `torch.save` whose archive or pickle would grow or take for ever, or which are none."""

from __future__ import annotations

import pickle
import zipfile
from pathlib import Path

import pytest
import torch
from torch_geometric.data import Data, InMemoryDataset

from fsgc.data.formats.read import read_graphs
from fsgc.errors import DataFormatError

EDGE = torch.tensor([[0], [1]])


def _rewritten(file: Path, compression: int = zipfile.ZIP_STORED, graphs: bytes | None = None) -> Path:
    """The same archive with its members compressed, or with another pickle."""
    target = file.with_name("rewritten.pt")
    with zipfile.ZipFile(file) as old, zipfile.ZipFile(target, "w", compression) as new:
        for name in old.namelist():
            new.writestr(name, graphs if graphs is not None and name.endswith("data.pkl") else old.read(name))
    return target


@pytest.mark.parametrize("compression", [zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_compressed_members_are_refused(tmp_path: Path, compression: int) -> None:
    torch.save([Data(x=torch.zeros(100_000, 1), edge_index=EDGE)], tmp_path / "a.pt")
    assert len(read_graphs(_rewritten(tmp_path / "a.pt"))) == 1
    bomb = _rewritten(tmp_path / "a.pt", compression)
    with pytest.raises(DataFormatError, match=r"rewritten.pt: cannot be loaded safely \(a member is compressed\)"):
        read_graphs(bomb)


def test_members_of_one_name_are_refused(tmp_path: Path) -> None:
    torch.save([Data(x=torch.zeros(2, 1), edge_index=EDGE)], tmp_path / "a.pt")
    with zipfile.ZipFile(tmp_path / "a.pt", "a") as archive, pytest.warns(UserWarning, match="Duplicate name"):
        archive.writestr("a/data.pkl", b"")
    with pytest.raises(DataFormatError, match="two members have one name"):
        read_graphs(tmp_path / "a.pt")


def test_a_pickle_whose_hash_takes_for_ever_is_refused(tmp_path: Path) -> None:
    """A tuple that holds one below it twice, sixty levels deep, as the key of a dictionary."""
    torch.save([Data(edge_index=EDGE)], tmp_path / "a.pt")
    program = b"\x80\x02})q\x00"
    for level in range(24):
        program += b"h" + bytes([level]) + b"\x86q" + bytes([level + 1])
    with pytest.raises(DataFormatError, match=r"\(operation BINGET at byte \d+ uses a tuple of tuples twice"):
        read_graphs(_rewritten(tmp_path / "a.pt", graphs=program + b"K\x01s."))


@pytest.mark.parametrize("content", [b"", b"\x80\x02", pickle.dumps([1]), b"PK\x03\x04" + bytes(100)])
def test_what_is_no_archive(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "a.pt").write_bytes(content)
    with pytest.raises(DataFormatError, match=r"cannot be loaded safely \(it is no zip"):
        read_graphs(tmp_path / "a.pt")


def test_files_of_an_older_pytorch_are_to_be_saved_again(tmp_path: Path) -> None:
    torch.save([Data(edge_index=EDGE)], tmp_path / "a.pt", _use_new_zipfile_serialization=False)
    with pytest.raises(DataFormatError, match=r"no zip, as PyTorch has written since 1.6\); load it and save it again"):
        read_graphs(tmp_path / "a.pt")


@pytest.mark.parametrize(
    "slices",
    [torch.zeros(1, dtype=torch.long).expand(10**13), torch.zeros(3_000_000, dtype=torch.uint8)],
    ids=["expanded", "of a byte"],
)
def test_slices_of_more_graphs_than_the_file_can_hold(tmp_path: Path, slices: torch.Tensor) -> None:
    data, known, *_ = InMemoryDataset.collate([Data(edge_index=EDGE, num_nodes=2)] * 2)
    torch.save((data, known), tmp_path / "a.pt")
    assert len(read_graphs(tmp_path / "a.pt")) == 2
    torch.save((data, dict.fromkeys(known, slices)), tmp_path / "a.pt")
    with pytest.raises(DataFormatError, match=r"a.pt: the slices tell of \d+ graphs, more than a file of this size"):
        read_graphs(tmp_path / "a.pt")
