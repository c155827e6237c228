"""`python -m benchmarks`: every benchmark, one after the other."""

from __future__ import annotations

from benchmarks import episodes, prototypical, reading


def main() -> None:
    """Run all."""
    reading.main()
    episodes.main()
    prototypical.main()


if __name__ == "__main__":
    main()
