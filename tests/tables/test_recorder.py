"""When computed cells are recorded: by a clock that the tests set."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from fsgc.tables import recorder as module
from fsgc.tables.grid import CellKey
from fsgc.tables.plan import Work, work_of
from fsgc.tables.recorder import Recorder

WORKS = [work_of(CellKey("enzymes", 5, "pn", seed), {}) for seed in range(5)]


class Clock:
    """Seconds, and a recorder whose commands take as long as is said here."""

    def __init__(self, command: float) -> None:
        self.now, self.command = 0.0, command
        self.recorded: list[list[Work]] = []

    def record(self, works: Sequence[Work]) -> None:
        self.now += self.command
        self.recorded.append(list(works))


def _clock(monkeypatch: pytest.MonkeyPatch, command: float) -> Clock:
    clock = Clock(command)
    monkeypatch.setattr(module, "monotonic", lambda: clock.now)
    return clock


@pytest.mark.parametrize(("command", "pause"), [(1.0, 60.0), (15.0, 300.0)])
def test_cells_are_recorded_together_less_often_the_longer_it_takes(
    monkeypatch: pytest.MonkeyPatch, command: float, pause: float
) -> None:
    clock = _clock(monkeypatch, command)
    recorder = Recorder(clock.record)
    assert recorder.patience() is None
    recorder.add(WORKS[:1])
    assert recorder.patience() == 0, "the first at once"
    recorder.record_if_due()
    assert clock.recorded == [WORKS[:1]]
    recorder.add(WORKS[1:2])
    clock.now += pause - 1
    recorder.add(WORKS[2:3])
    recorder.record_if_due()
    assert (len(clock.recorded), recorder.patience()) == (1, 1.0)
    clock.now += 1
    recorder.record_if_due()
    assert clock.recorded[1:] == [WORKS[1:3]]
    assert command <= module.MOST_RECORDING * pause


def test_at_the_end_the_rest_is_recorded_if_there_is_any(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = _clock(monkeypatch, 1.0)
    recorder = Recorder(clock.record)
    recorder.record_if_due()
    recorder.record()
    assert clock.recorded == []
    recorder.add(WORKS)
    recorder.record()
    recorder.record()
    assert clock.recorded == [WORKS]
