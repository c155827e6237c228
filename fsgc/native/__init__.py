"""Compiled code for what PyTorch's operations are too coarse for; everything it does, Python does too, only slower."""
