"""Few-shot graph classification: datasets, episodes and methods that can be compared.

The names below are loaded on first use, so that `import fsgc.<module>` pulls in nothing it does not need.
"""
