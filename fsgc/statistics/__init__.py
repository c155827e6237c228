"""Intervals, paired comparisons, ranks and calibration: pure functions of arrays, with no file and no PyTorch.

- `intervals`: what one value per episode or per seed says on its own (`Summary`, `normal_interval`, `seed_interval`).
- `panel`: the entry for tables. `Panel(outcomes, draw)` has the named intervals of each method (`intervals`: episodes,
  graphs, seeds, classes and the default, graphs with seeds) and the difference of any two over graphs and seeds
  together (`compare`).
- `jackknife`: what `panel` rests on, the covariances of accuracies over other episodes (`episode_covariance`), other
  novel graphs (`graph_covariance`) and other novel classes (`class_covariance`), with the derivation.
- `variance`: estimated variances with their degrees of freedom, and intervals and p-values where several sources of
  chance meet (`interval_of`, `p_value`).
- `draw`: which graphs met in which episode (`Draw`), as `fsgc.evaluation.outcomes` draws it again.
- `bootstrap`: the paired bootstrap over episodes.
- `confusion`: true against predicted classes, by episode and over all; accuracy and macro F1 of every episode.
- `paired`: Wilcoxon's signed-rank test (`wilcoxon_p`) and the correction for many comparisons (`holm`).
- `marks`: the rules of tables (`mark_table`): the best is bold only where every row of a column exists, ties are what
  the test of `panel` does not separate from the best.
- `ranks`: average ranks over datasets, Friedman's test, Nemenyi's critical difference (`rank_methods`). The columns
  of one dataset, with 5 and with 10 shots, are averaged first, since they are not independent.
- `calibration`: reliability curve and expected calibration error of scores.
"""
