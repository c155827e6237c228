"""`python -m benchmarks`: every benchmark, one after the other."""

from __future__ import annotations

from benchmarks import as_maml, discriminant, episodes, gsm, kernels, maml, prototypical, reading, rows, transfer


def main() -> None:
    """Run all."""
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
