"""How super-classes are found."""

from __future__ import annotations

from typing import Literal

from fsgc.settings import settings


@settings
class SuperClassSettings:
    """The section `superclasses` of `params.yaml`.

    Attributes:
        order: of the transport cost between spectra; 2 is the squared distance, 1 the distance.
    """

    order: Literal[1, 2] = 2
