"""`python -m benchmarks`: every benchmark, one after the other; on another device only those that use it."""

from __future__ import annotations

from benchmarks import as_maml, discriminant, episodes, gsm, kernels, maml, prototypical, reading, rows, transfer
from benchmarks.device import DEVICE, title


def main() -> None:
    """Run all."""
    print(f"device: {title()}", flush=True)
    if DEVICE.type == "cpu":
        reading.main()
        episodes.main()
        kernels.main()
        discriminant.main()
    prototypical.main()
    transfer.main()
    maml.main()
    as_maml.main()
    gsm.main()
    rows.main()


if __name__ == "__main__":
    main()
