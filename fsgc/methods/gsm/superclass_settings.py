"""How super-classes are found."""

from __future__ import annotations

from dataclasses import dataclass

from fsgc.errors import SettingsError


@dataclass(frozen=True)
class SuperClassSettings:
    """The section `superclasses` of `params.yaml`.

    Attributes:
        order: of the transport cost between spectra; 2 is the squared distance, 1 the distance.
    """

    order: int

    def __post_init__(self) -> None:
        if self.order not in (1, 2):
            raise SettingsError(f"order: {self.order} is unknown; allowed are 1 and 2")
