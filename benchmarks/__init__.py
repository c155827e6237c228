"""Speed against plain implementations, measured in one run and printed as ratios; `make bench`."""
