"""Labels for new graphs from a few labelled ones: `FewShotClassifier` and `fsgc predict`."""
