"""The steps from raw files to results: one module each, with one function `run(workspace, experiment, …)`.

`pipeline/` (for DVC), `fsgc.api` and `fsgc.commands` are thin doors to these functions. A step reads the stores of the
steps before it, writes its own whole or not at all, and returns a sentence that says what it did.
"""
