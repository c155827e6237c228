"""GSM*: super-classes from graph spectra, attention over a super-graph."""
