"""Edits that change no result, so that what was computed before them stays current.

An edit of a module that every method loads makes every cell of the tables stale, days of computing, even if it mends
nothing but a race between two processes. Such an edit is named here, and then the module counts as it was when the
results were computed. An entry is a claim: it says why no result can change, and how that was checked: which cells were
computed again from the raw files with the same answer to every query (`fsgc tables check`), or which compiled
instructions or trained weights were compared. `fsgc tables status` names the entries.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Edit:
    """A module that counts as an earlier version of itself.

    Attributes:
        module: its name.
        digest: of its syntax now, see `fsgc.recipes`; any further edit ends the entry.
        counts_as: the digest of the version that it counts as; empty if what it holds was part of another module.
        why: why it changes no result.
        checked: the cells that were computed again, or what was compared otherwise.
    """

    module: str
    digest: str
    counts_as: str
    why: str
    checked: tuple[str, ...]


_FOR_AVX2_TOO = (
    "a second library, for processors with AVX2, is built of it; the instructions of that for AVX-512 are the same"
)


def _for_avx2_too(module: str, digest: str, counts_as: str) -> Edit:
    """A module whose C++ is now compiled for AVX2 as well; compared was what `objdump -d` prints of the objects."""
    return Edit(module, digest, counts_as, _FOR_AVX2_TOO, (f"{module.rpartition('.')[2]} for AVX-512",))


_OUT_OF_THE_METHOD = (
    "Lightning trains a method inside a module of its own, so that only training loads Lightning; the operations and "
    "their order are the same"
)
# After three short epochs on ENZYMES, before and after: the same weights to the byte.
_TRAINED = ("pn", "pn_tae_mu", "spnp", "gcn", "maml", "as_maml", "gsm", "faith", "smf_gin", "smf_gin_local")
_SAME_WEIGHTS = tuple(f"weights of {name}" for name in _TRAINED)
# Their answers to 40 test episodes, before and after: the same files.
_SAME_OUTCOMES = tuple(f"outcomes of {name}" for name in (*_TRAINED, "wl", "discriminant"))
# Weights after four steps and the scores of test episodes, before and after, for AVX-512 and AVX2: the same bytes.
_FOUR_DATASETS = ("triangles", "enzymes", "graph_r52", "coil_del")
_SAME_STEPS_OF_MAML = tuple(f"four steps and scores of maml on {key}" for key in _FOUR_DATASETS)

_REFUSES = "mixed precision is refused where a method cannot be trained in it"
_OTHER_NUMBERS = "arrays of other numbers than it reads are refused"

_SCIPY_LATER = "SciPy is loaded for features that need it; what is computed is the same"
# Tables and codes of every feature that a dataset has, before and after: the same bytes.
_SAME_FEATURES = tuple(f"node features of {key}" for key in _FOUR_DATASETS)

EDITS = (
    Edit(
        "fsgc.files",
        "11a286d6f9206b25",
        "ced4f5953fefc3b0",
        "two processes that write the same store at once no longer fail; what is written is the same",
        ("letter_high-5shot-discriminant-seed0", "enzymes-5shot-wl-seed0", "enzymes-5shot-pn-seed0"),
    ),
    Edit(
        "fsgc.provenance",
        "6d9dddf01c6f1795",
        "30b92452afb34ec7",
        "a record also names the compiled code that is at hand; nothing is computed from it",
        ("enzymes-5shot-wl-seed0", "letter_high-5shot-sp-seed0", "letter_high-5shot-discriminant-seed0"),
    ),
    Edit(
        "fsgc.methods.learned",
        "1da15fc0ca3e2bc3",
        "488206fdbb273bb9",
        f"a step's values and speed are noted only where a progress bar shows them; {_OUT_OF_THE_METHOD}; {_REFUSES}",
        ("triangles-5shot-gcn-seed1", "triangles-5shot-gat-seed2", "enzymes-5shot-pn-seed0", *_SAME_WEIGHTS),
    ),
    Edit(
        "fsgc.training.callbacks",
        "77247eac32dd5e62",
        "6df704ca72573f85",
        f"a step's values and speed are noted only where a progress bar shows them; {_OUT_OF_THE_METHOD}; a resumed "
        "training makes up for the last step of a schedule that goes by validation; others are the same",
        ("triangles-5shot-gcn-seed1", "triangles-5shot-gat-seed2", "enzymes-5shot-pn-seed0", *_SAME_WEIGHTS),
    ),
    Edit(
        "fsgc.training.fit",
        "519944a5a37068d8",
        "ff7593e1e29e1a38",
        f"{_OUT_OF_THE_METHOD}; {_REFUSES}; a run with nothing left to train writes its curves",
        _SAME_WEIGHTS,
    ),
    Edit(
        "fsgc.training.run",
        "08322085df8ef5bb",
        "b026245ec92c608c",
        "a function that nothing used any more is gone",
        _SAME_WEIGHTS,
    ),
    Edit(
        "fsgc.steps.train",
        "2a6f0e3c0ca37482",
        "a6aa7f839cbadbd2",
        "checkpoints are kept apart by the prepared store they come from",
        _SAME_WEIGHTS,
    ),
    Edit(
        "fsgc.evaluation.outcomes",
        "aaefb582b2d1156b",
        "8047e540cfd08273",
        "a function was cut in two; what is written and read is the same",
        _SAME_OUTCOMES,
    ),
    Edit("fsgc.methods.gsm.method", "1652cd974c802b16", "897e3c3edcce3076", _REFUSES, _SAME_WEIGHTS),
    Edit("fsgc.training.trainee", "bd70c110a4390ff5", "", _OUT_OF_THE_METHOD, _SAME_WEIGHTS),
    Edit(
        "fsgc.nn.pooling",
        "29e371074cd97850",
        "0d7ed72aa4f4d0af",
        "a function was cut in two; the operations and their order are the same",
        ("triangles-5shot-gcn-seed1", "triangles-5shot-gat-seed2"),
    ),
    Edit(
        "fsgc.training.live",
        "d8d7684b1b6d26ad",
        "310492849c898b04",
        "DVCLive is loaded when curves are opened; what is written is the same",
        ("enzymes-5shot-pn-seed1", "enzymes-5shot-pn-seed2", "enzymes-10shot-smf_gin-seed0"),
    ),
    Edit(
        "fsgc.training.checkpoint",
        "d8a44e04287f1f0c",
        "d73fa20b2272812d",
        "a function that nothing used any more is gone",
        ("enzymes-5shot-wl-seed0", "letter_high-10shot-sp-seed0", "letter_high-5shot-discriminant-seed0"),
    ),
    Edit(
        "fsgc.methods.kernel.method",
        "7ce7e10c199de7fa",
        "7da640550efd8c75",
        "the matrix of other episodes is forgotten when new ones are attached; a cell's model meets one store of them",
        ("enzymes-5shot-wl-seed0", "letter_high-10shot-sp-seed0", "triangles-5shot-graphlet-seed0"),
    ),
    Edit(
        "fsgc.methods.kernel.machines",
        "477e086b3d12d355",
        "32fefdff66ce722d",
        "sklearn is loaded when a machine is fitted",
        ("enzymes-5shot-wl-seed0", "letter_high-10shot-sp-seed0"),
    ),
    Edit(
        "fsgc.methods.discriminant.counted_views",
        "f318aae98fe43956",
        "dba3a0831332cf5d",
        "sklearn is loaded when a vocabulary is fitted",
        ("graph_r52-5shot-discriminant-seed0",),
    ),
    _for_avx2_too("fsgc.nn.gin_kernel", "2ec6210af53625f9", "97fe975b067c57e1"),
    _for_avx2_too("fsgc.nn.folded_kernel", "ddbdd81bfa516c66", "a1cb94a312a9dbbb"),
    Edit(
        "fsgc.methods.smf_gin.gin_pass_kernel",
        "f1df66b866eb8b3c",
        "25df0e7b1d4759d9",
        f"{_FOR_AVX2_TOO}; {_OTHER_NUMBERS}",
        ("gin_pass_kernel for AVX-512", *_SAME_WEIGHTS),
    ),
    _for_avx2_too("fsgc.methods.smf_gin.episode_loss_kernel", "fb29342a3fddfda9", "6afe72d285568b2c"),
    _for_avx2_too("fsgc.methods.faith.neighbour_kernel", "8d12019545de00a3", "b4a9a0c1853eba51"),
    _for_avx2_too("fsgc.methods.as_maml.adaptation_kernel", "713bb84cac565aee", "81dcd15ac96dd439"),
    _for_avx2_too("fsgc.methods.as_maml.path_kernel", "27fe4be1d13d95e9", "70e9492da1b643a0"),
    Edit("fsgc.data.encodings", "916214e022157b91", "688e706cbefb3467", _SCIPY_LATER, _SAME_FEATURES),
    Edit("fsgc.data.features", "34031fa944cf1e68", "8b7189587efdccce", _SCIPY_LATER, _SAME_FEATURES),
    Edit(
        "fsgc.methods.maml.episode_kernel",
        "afb31dddf313ad15",
        "bc6331f1a1afc986",
        f"{_FOR_AVX2_TOO}; many one-hot features, which PyTorch multiplied, are covered as well; with few, the "
        "operations and their order are the same",
        ("episode_kernel for AVX-512", *_SAME_STEPS_OF_MAML),
    ),
    Edit(
        "fsgc.methods.maml.method",
        "5874f3ea6733cef8",
        "3b8210b49c75fe66",
        f"compiled code is told whether features are one-hot; {_REFUSES}",
        (*_SAME_STEPS_OF_MAML, *_SAME_WEIGHTS),
    ),
    Edit(
        "fsgc.methods.as_maml.method",
        "51120fbf94a0c244",
        "d74a3b61a11bb3e6",
        "one more kind of inputs, for Reddit; features that the experiment names are not replaced by degrees; "
        f"{_REFUSES}",
        (*(f"four steps and scores of as_maml on {key}" for key in _FOUR_DATASETS), *_SAME_WEIGHTS),
    ),
    Edit(
        "fsgc.native.library",
        "cae6fd30d499769b",
        "379ba7ce4113c29c",
        "it chooses between libraries for AVX-512 and for AVX2, takes none of an older source, and lists those at hand "
        f"with their processor; {_OTHER_NUMBERS}",
        ("gin_kernel for AVX-512", "episode_kernel for AVX-512", *_SAME_WEIGHTS),
    ),
    Edit("fsgc.native.sources", "73cbf4c9658765d2", "", "it names the files of libraries", _SAME_WEIGHTS),
)


def counted(module: str, digest: str) -> str:
    """The digest of the version that a module counts as, its own unless an edit of it is named here; empty for none."""
    for edit in EDITS:
        if (edit.module, edit.digest) == (module, digest):
            return edit.counts_as
    return digest
