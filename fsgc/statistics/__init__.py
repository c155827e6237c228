"""Intervals, paired comparisons, ranks and calibration: pure functions of arrays, with no file and no PyTorch.

- `intervals`: what one value per episode or per seed says on its own (`Summary`, `normal_interval`, `seed_interval`).
- `bootstrap`: the paired bootstrap over episodes.
- `confusion`: true against predicted classes, by episode and over all; accuracy and macro F1 of every episode.
- `paired`: Wilcoxon's signed-rank test (`wilcoxon_p`) and the correction for many comparisons (`holm`).
- `ranks`: average ranks over datasets, Friedman's test, Nemenyi's critical difference (`rank_methods`).
"""
