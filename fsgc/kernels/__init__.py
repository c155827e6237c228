"""Graph kernels as inner products of sparse histograms, and their Gram matrices."""
