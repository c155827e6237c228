"""All methods by name: the one line that a new method adds.

A method's module is loaded when the method is asked for, so that nothing depends on methods it does not use.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import dataclass, field, is_dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any

from fsgc.errors import SettingsError
from fsgc.methods import plugins

if TYPE_CHECKING:
    from fsgc.methods.contract import Method, TaskShape


@dataclass(frozen=True)
class Entry:
    """A row of the tables.

    Attributes:
        title: its name in tables.
        about: what it is, in a sentence.
        path: `module:Class`, or `file.py:Class`. The class says with `settings_type` and `section` where its
            hyperparameters are.
        options: arguments of the class beyond the shape of the task and the settings.
        takes_features: whether the setting `features` decides what it sees of nodes; kernels compare the labels in the
            files, and the discriminant computes its own descriptors.
    """

    title: str
    about: str
    path: str
    options: Mapping[str, Any] = field(default_factory=dict)
    takes_features: bool = True

    @property
    def module(self) -> str:
        """The full name of the module, or the path of the file."""
        return self.path.rpartition(":")[0]

    @property
    def section(self) -> str:
        """The section of `params.yaml` with its hyperparameters."""
        return plugins.section_of(self.method())

    def method(self) -> type[Method]:
        """The class."""
        if not self.module.startswith("fsgc."):
            return plugins.load(self.path)
        result: type[Method] = getattr(import_module(self.module), self.path.rpartition(":")[2])
        return result

    def make(self, shape: TaskShape, settings: Any) -> Method:
        """The method for tasks of a shape."""
        return self.method()(shape, settings, **self.options)


def _pn(title: str, about: str, **options: Any) -> Entry:
    return Entry(title, about, "fsgc.methods.prototypical.method:PrototypicalNetwork", options)


def _transfer(conv: str) -> Entry:
    about = f"A {conv.upper()} that classifies base classes, frozen; a head per episode."
    return Entry(conv.upper(), about, "fsgc.methods.transfer:Transfer", {"conv": conv})


def _faith(title: str, about: str, **options: Any) -> Entry:
    return Entry(title, about, "fsgc.methods.faith.method:Faith", options)


def _kernel(name: str, title: str, about: str) -> Entry:
    return Entry(
        title,
        f"{about} kernel and an SVM per episode.",
        "fsgc.methods.kernel.method:KernelMethod",
        {"kernel": name},
        takes_features=False,
    )


def _discriminant(title: str, about: str, **options: Any) -> Entry:
    path = "fsgc.methods.discriminant.method:Discriminant"
    return Entry(title, about, path, options, takes_features=False)


METHODS: Mapping[str, Entry] = {
    "wl": _kernel("wl", "WL", "Weisfeiler-Lehman subtree"),
    "sp": _kernel("sp", "SP", "Shortest-path"),
    "graphlet": _kernel("graphlet", "Graphlet", "Graphlet"),
    "maml": Entry("MAML", "Weights from which a few steps on the supports suffice.", "fsgc.methods.maml.method:Maml"),
    "as_maml": Entry("AS-MAML", "MAML with a learned number of steps.", "fsgc.methods.as_maml.method:AdaptiveStepMaml"),
    "gin": _transfer("gin"),
    "gat": _transfer("gat"),
    "gcn": _transfer("gcn"),
    "gsm": Entry(
        "GSM*", "Super-classes from spectra, attention among graphs.", "fsgc.methods.gsm.method:GraphSpectralMeasures"
    ),
    "faith": _faith("FAITH", "An episode among tasks of base classes; its queries are seen together."),
    "faith_inductive": _faith("FAITH, inductive", "The same, each query by itself.", inductive=True),
    "smf_gin": Entry(
        "SMF-GIN",
        "GIN read-outs fused; prototypes of centred, normalised embeddings.",
        "fsgc.methods.smf_gin.method:SmfGin",
    ),
    "smf_gin_local": Entry(
        "SMF-GIN, local",
        "The same with halves of the graph, cut by the order of its nodes.",
        "fsgc.methods.smf_gin.method:SmfGinLocal",
    ),
    "spnp": Entry(
        "SPNP (from its abstract)",
        "A neural process over PN's embeddings; no claim about the published accuracies.",
        "fsgc.methods.spnp.method:PrototypicalNeuralProcess",
    ),
    "untrained": Entry(
        "Untrained",
        "PN at its initial weights: what its structure alone is worth.",
        "fsgc.methods.untrained:UntrainedNetwork",
    ),
    "pn": _pn("PN", "Prototypical network with a GIN embedder."),
    "pn_mu": _pn("PN+MU", "PN regularised by latent mixup.", mixup=True),
    "pn_tae": _pn("PN+TAE", "PN with embeddings adapted to the episode.", task_adaptive=True),
    "pn_tae_mu": _pn("PN+TAE+MU", "The paper's full method.", task_adaptive=True, mixup=True),
    "pn_tae_mu_mean_std": _pn(
        "PN+TAE+MU, mean+std",
        "The same with mean and deviation pooled.",
        task_adaptive=True,
        mixup=True,
        pooling="mean_std",
    ),
    "discriminant": _discriminant(
        "Discriminant", "Descriptors, a metric in closed form and a shrunken linear discriminant per episode."
    ),
    "discriminant_nearest_mean": _discriminant(
        "Descriptors, nearest mean", "The nearest class mean among the same descriptors.", metric=False, shrinkage=False
    ),
    "discriminant_metric": _discriminant(
        "Descriptors, metric", "The nearest class mean under the discriminant's metric.", shrinkage=False
    ),
    "discriminant_no_cycles": _discriminant(
        "Discriminant without cycles", "The discriminant without columns that count cycles.", cycles=False
    ),
    "discriminant_pn": Entry(
        "Discriminant+PN",
        "The discriminant with a trained PN's embedding as one more view.",
        "fsgc.methods.discriminant.with_pn:DiscriminantPN",
    ),
    "head_pn": Entry(
        "PN, discriminant head",
        "A trained PN whose distances are those of the discriminant's head.",
        "fsgc.methods.discriminant.with_pn:HeadPN",
    ),
}


def method_entry(name: str) -> Entry:
    """The entry of a method that the user names: a name of ours or of an installed package, or `file.py:Class`.

    An unknown one is an error that lists what there is.
    """
    if name in METHODS:
        return METHODS[name]
    if plugins.is_file(name):
        entry = _of_plugin(name)
        plugins.named_by_user(name)
        return entry
    installed = plugins.installed()
    if name in installed:
        return _of_plugin(installed[name])
    known = [*METHODS, *installed]
    near = difflib.get_close_matches(name, known, n=1)
    hint = f"; did you mean {near[0]!r}?" if near else "."
    raise SettingsError(f"model: unknown method {name!r}{hint} There are: {', '.join(known)}, or file.py:Class")


def stored_entry(name: str) -> Entry:
    """The entry of a method that a model file names: a user's file only if the user has named it as well."""
    return method_entry(plugins.as_named(name))


def _of_plugin(path: str) -> Entry:
    try:
        method = plugins.load(path)
    except SystemExit as error:
        raise SettingsError(f"model: {path} ends Python when it is loaded (exit code {error.code})") from None
    if not is_dataclass(method.settings_type):
        raise SettingsError(
            f"model: the settings_type of {path} is not a dataclass; decorate it with fsgc.settings.settings"
        )
    about = (method.__doc__ or "").strip().splitlines()
    return Entry(method.__name__, about[0] if about else "", path)
