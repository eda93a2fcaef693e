"""The transformer's training step in PyTorch, eager: what people would write there. Takes the number of layers."""

import sys

import torch
import torch.nn.functional as F

from benchmarks.measures.timing import best, report
from benchmarks.models.transformer_data import Size, batch, init


def to_torch(tree):
    """The tree with leaves that collect gradients."""
    if isinstance(tree, dict):
        return {k: to_torch(v) for k, v in tree.items()}
    if isinstance(tree, list):
        return [to_torch(v) for v in tree]
    return torch.from_numpy(tree).requires_grad_()


def leaves(tree):
    if isinstance(tree, torch.Tensor):
        return [tree]
    return [x for v in (tree.values() if isinstance(tree, dict) else tree) for x in leaves(v)]


def attention(p, x, heads):
    sequences, tokens, features = x.shape
    qkv = (x @ p["qkv"]).reshape(sequences, tokens, 3, heads, features // heads)
    q, k, v = qkv[:, :, 0], qkv[:, :, 1], qkv[:, :, 2]
    scores = torch.einsum("bqhd,bkhd->bhqk", q, k) * (features // heads) ** -0.5
    causal = torch.tril(torch.ones(tokens, tokens, dtype=torch.bool))
    weights = torch.softmax(torch.where(causal, scores, -1e9), dim=-1)
    return torch.einsum("bhqk,bkhd->bqhd", weights, v).reshape(x.shape) @ p["out"]


def norm(p, x):
    return F.layer_norm(x, x.shape[-1:], p["scale"], p["shift"])


def loss(params, tokens, heads=4):
    inputs, targets = tokens[:, :-1], tokens[:, 1:]
    x = params["embed"][inputs] + params["position"]
    for p in params["layers"]:
        x = x + attention(p, norm(p["norm1"], x), heads)
        x = x + F.gelu(norm(p["norm2"], x) @ p["up"] + p["up_bias"], approximate="tanh") @ p["down"] + p["down_bias"]
    scores = norm(params["norm"], x) @ params["head"]
    return F.cross_entropy(scores.flatten(0, 1), targets.flatten())


def main(layers: int = 24):
    size = Size(layers=layers)
    params, tokens = to_torch(init(size)), torch.from_numpy(batch(size)).long()
    flat = leaves(params)

    def step():
        value = loss(params, tokens)
        for p, g in zip(flat, torch.autograd.grad(value, flat), strict=True):
            with torch.no_grad():
                p.sub_(g, alpha=0.01)
        return value

    print(f"loss {step().item():.6f}", file=sys.stderr)
    report({f"run_transformer_{layers}": best(step, 15)})


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
