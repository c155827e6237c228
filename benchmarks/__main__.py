"""`python -m benchmarks`: every benchmark, one after the other."""

from __future__ import annotations

from benchmarks import episodes, reading


def main() -> None:
    """Run all."""
    reading.main()
    episodes.main()


if __name__ == "__main__":
    main()
