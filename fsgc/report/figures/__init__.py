"""Figures: which ones the results allow, how each is drawn, how all of them look."""
