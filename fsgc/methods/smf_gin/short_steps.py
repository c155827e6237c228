"""A method whose steps are so short that Lightning's notes on them count; SMF-GIN's and FAITH's base."""

from __future__ import annotations

from typing import Any

from fsgc.methods.learned import LearnedMethod


class ShortSteps(LearnedMethod):
    """Tells a progress bar of its steps only where there is one.

    Lightning takes longer to note three values of a step, none of which the curves are made of, than SMF-GIN over the
    step itself.
    """

    def log(self, name: str, value: Any, *arguments: Any, **options: Any) -> None:
        """Note a value, unless it is one of training that nobody sees."""
        trainer = self.trainer
        if not trainer.training or trainer.progress_bar_callback is not None:
            super().log(name, value, *arguments, **options)
