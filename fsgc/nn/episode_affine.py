"""Affine maps of node rows, one per episode, multiplied with each other before they are multiplied with rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, pairwise
from typing import Any, TypeVar

import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor
from torch.autograd.function import once_differentiable

from fsgc.nn.copies import Copies

_Part = TypeVar("_Part")


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows of the nodes of all episodes, `[n, k]`, or of the nodes that those are copies of, `[m, k]`, if `shared`."""

    values: Tensor
    shared: bool = False


@dataclass(frozen=True, eq=False)
class Term:
    """Node rows times a matrix of each episode, `[E, k, d]`."""

    rows: Rows
    matrix: Tensor


@dataclass(frozen=True, eq=False)
class EpisodeAffine:
    """`Σ rows · matrix[e] + shift[e]` for the rows of each episode `e` of `E`: `[n, d]`, not carried out yet.

    Attributes:
        terms: what is summed.
        shift: `[E, d]`.
    """

    terms: tuple[Term, ...]
    shift: Tensor

    def then(self, weight: Tensor, bias: Tensor | None = None) -> EpisodeAffine:
        """Followed by a linear layer, `W` `[d', d]`."""
        terms = tuple(replace(term, matrix=term.matrix @ weight.t()) for term in self.terms)
        return EpisodeAffine(terms, F.linear(self.shift, weight, bias))

    def film(self, gamma: Tensor, beta: Tensor) -> EpisodeAffine:
        """Followed by a scale and a shift of each episode, both `[E, d]`."""
        terms = tuple(replace(term, matrix=term.matrix * gamma.unsqueeze(1)) for term in self.terms)
        return EpisodeAffine(terms, torch.addcmul(beta, self.shift, gamma))

    def __add__(self, other: EpisodeAffine) -> EpisodeAffine:
        return EpisodeAffine(self.terms + other.terms, self.shift + other.shift)

    def carry_out(self, sizes: list[int], copies: Copies) -> Tensor:
        """The result, `[n, d]`; `sizes` are the numbers of rows of each episode, `n` in all."""
        shared = [term for term in self.terms if term.rows.shared]
        own = [term for term in self.terms if not term.rows.shared]
        # The shift is one more row of the matrix, that of a column of ones.
        ones = self.shift.new_ones(copies.num_origins if shared else sum(sizes), 1)
        rows = torch.cat([ones, *(term.rows.values for term in shared)], 1)
        matrix = torch.cat([self.shift.unsqueeze(1), *(term.matrix for term in shared)], 1)
        all_rows = [copies.spread(rows) if shared else rows, *(term.rows.values for term in own)]
        matrices = [matrix, *(term.matrix for term in own)]
        result: Tensor = _EpisodeProducts.apply(sizes, *all_rows, *matrices)  # type: ignore[no-untyped-call]
        return result


class _EpisodeProducts(torch.autograd.Function):
    """`Σ rows · matrix[e]`, written episode by episode into one array."""

    @staticmethod
    def forward(ctx: Any, sizes: list[int], *parts: Tensor) -> Tensor:
        ctx.sizes = sizes
        ctx.save_for_backward(*parts)
        all_rows, matrices = _halves(parts)
        result = parts[0].new_empty(len(parts[0]), parts[-1].shape[2])
        for episode, (begin, end) in _blocks(sizes):
            out = result[begin:end]
            torch.mm(all_rows[0][begin:end], matrices[0][episode], out=out)
            for rows, matrix in zip(all_rows[1:], matrices[1:], strict=True):
                out.addmm_(rows[begin:end], matrix[episode])
        return result

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        grad = grads[0].contiguous()
        parts = ctx.saved_tensors
        wanted = ctx.needs_input_grad[1:]
        results = [part.new_empty(part.shape) if want else None for part, want in zip(parts, wanted, strict=True)]
        for episode, (begin, end) in _blocks(ctx.sizes):
            block = grad[begin:end]
            for rows, matrix, grad_rows, grad_matrix in zip(*_halves(parts), *_halves(results), strict=True):
                if grad_rows is not None:
                    torch.mm(block, matrix[episode].t(), out=grad_rows[begin:end])
                if grad_matrix is not None:
                    torch.mm(rows[begin:end].t(), block, out=grad_matrix[episode])
        return None, *results


def _halves(parts: Sequence[_Part]) -> tuple[Sequence[_Part], Sequence[_Part]]:
    return parts[: len(parts) // 2], parts[len(parts) // 2 :]


def _blocks(sizes: list[int]) -> Iterator[tuple[int, tuple[int, int]]]:
    return enumerate(pairwise(accumulate(sizes, initial=0)))
