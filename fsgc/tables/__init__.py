"""The paper's tables as a grid of cells, each a cached output of the pipeline in `tables/dvc.yaml`."""
