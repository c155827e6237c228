"""The embedder at its initial weights (`untrained`): what the structure of the network alone is worth.

On ENZYMES a trained prototypical network is hardly better, so every table should show this row. Each seed is another
initialisation.
"""

from __future__ import annotations

from fsgc.methods.contract import Method, Run, Scope
from fsgc.methods.prototypical.method import PrototypicalNetwork
from fsgc.training.report import FitReport


class UntrainedNetwork(PrototypicalNetwork):
    """A prototypical network that is never trained."""

    trained_for = Scope(shots=False, seed=True)

    def fit(self, run: Run) -> FitReport:
        """Leave the weights as they are."""
        self.eval()
        return Method.fit(self, run)
