"""Graph kernels with a support vector machine per episode."""
