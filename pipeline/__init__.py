"""The stages of `dvc.yaml`, one module each: parse, load, call one function of fsgc, save."""
