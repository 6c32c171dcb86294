"""The statistics that are means over query rows.

Each function returns one value per row, float64 ``[layers, heads, R]``. Below, i is a query and j a key by their
positions in the whole encoding, p[i, j] the weight in scope, and a row that does not count is NaN.
Sources: Clark et al. 2019 (What Does BERT Look At?), Voita et al. 2019 (Analyzing Multi-Head Self-Attention),
Vig & Belinkov 2019 (Analyzing the Structure of Attention); "own" is a definition of attnx.
"""

import torch

from attnx.statistics.reductions import largest
from attnx.statistics.registry import row_statistic
from attnx.statistics.view import ScopeView

WINDOW = 2


@row_statistic("self_share", "share", "1/T Σ_i p_{ii}")
def self_share(view: ScopeView) -> torch.Tensor:
    """Attention of a token to itself, p[i, i]; 0..1. Clark et al. 2019, section 3.1."""
    return view.weights.diagonal(dim1=-2, dim2=-1)


@row_statistic("previous_share", "share", "1/(T−1) Σ_{i>1} p_{i,i−1}")
def previous_share(view: ScopeView) -> torch.Tensor:
    """Attention to the previous token, p[i, i-1]; 0..1. Clark et al. 2019, section 3.1.

    Only rows whose previous token is in scope count: T - 1 in an unbroken text, where Clark divides by T.
    """
    return _neighbor_share(view, -1)


@row_statistic("next_share", "share", "1/(T−1) Σ_{i<T} p_{i,i+1}")
def next_share(view: ScopeView) -> torch.Tensor:
    """Attention to the next token, p[i, i+1]; 0..1. Clark et al. 2019, section 3.1; rows counted as above."""
    return _neighbor_share(view, +1)


@row_statistic("local_share", "share", "1/T Σ_i Σ_{|i−j|≤2} p_{ij}")
def local_share(view: ScopeView) -> torch.Tensor:
    """Attention within two tokens, the sum of p[i, j] over abs(i - j) <= 2; 0..1. Own."""
    return (view.weights * (view.offsets.abs() <= WINDOW).double()).sum(-1)


@row_statistic("cls_share", "share", "1/T Σ_i Σ_{j∈CLS} p_{ij}", scopes=("all",))
def cls_share(view: ScopeView) -> torch.Tensor:
    """Attention to the cls (or bos) token; 0..1, undefined without one. Clark et al. 2019, section 3.2."""
    return _special_share(view, "cls")


@row_statistic("sep_share", "share", "1/T Σ_i Σ_{j∈SEP} p_{ij}", scopes=("all",))
def sep_share(view: ScopeView) -> torch.Tensor:
    """Attention to the sep (or eos) tokens together; 0..1, undefined without one. Clark et al. 2019, section 3.2."""
    return _special_share(view, "sep")


@row_statistic("special_share", "share", "1/T Σ_i Σ_{j∈S} p_{ij}", scopes=("all",))
def special_share(view: ScopeView) -> torch.Tensor:
    """Attention to all special tokens together; 0..1, undefined without any. Kovaleva et al. 2019, section 4.4."""
    return _special_share(view, "special")


@row_statistic("punctuation_share", "share", "1/T Σ_i Σ_{j∈P} p_{ij}")
def punctuation_share(view: ScopeView) -> torch.Tensor:
    """Attention to punctuation (Unicode category P); 0..1, and 0 in a text without any. Clark et al. 2019, section 3.2.

    Clark counts the period and the comma only; the category fits every script.
    """
    return view.weights @ view.classes["punctuation"].double()


@row_statistic("distance", "tokens", "1/T Σ_i Σ_j p_{ij} |i − j|")
def distance(view: ScopeView) -> torch.Tensor:
    """Mean distance, the sum of p[i, j] abs(i - j); 0..T-1, (T*T - 1) / 3T if uniform. Vig & Belinkov 2019."""
    return (view.weights * view.offsets.abs()).sum(-1)


@row_statistic("signed_distance", "tokens", "1/T Σ_i Σ_j p_{ij} (j − i)")
def signed_distance(view: ScopeView) -> torch.Tensor:
    """Mean direction, the sum of p[i, j] (j - i); above 0 if a head looks ahead; -(T-1)..T-1. Own."""
    return (view.weights * view.offsets).sum(-1)


@row_statistic("right_share", "share", "1/T Σ_i Σ_{j>i} p_{ij}")
def right_share(view: ScopeView) -> torch.Tensor:
    """Attention to later tokens, the sum of p[i, j] over j > i; 0..1, (T - 1) / 2T if uniform. Own."""
    return (view.weights * (view.offsets > 0).double()).sum(-1)


@row_statistic("entropy", "nats", "−1/T Σ_i Σ_j p_{ij} ln p_{ij}")
def entropy(view: ScopeView) -> torch.Tensor:
    """Shannon entropy, minus the sum of p[i, j] ln p[i, j], with 0 ln 0 = 0; 0..ln T. Clark et al. 2019, section 3.3.

    No smoothing; Clark's code mixes in 1e-4 of the uniform distribution first.
    """
    return view.entropies


@row_statistic("normalized_entropy", "number", "1/T Σ_i H_i / ln V_i")
def normalized_entropy(view: ScopeView) -> torch.Tensor:
    """Entropy divided by ln of the number of keys the query can see; 0..1, undefined for one key. Own.

    A causal model's query sees the keys up to itself, a local layer's those in its window, any other's all of them.
    Not free of length: compare texts of similar length only.
    """
    return torch.where(view.visible > 1, view.entropies / view.visible.double().log(), torch.nan)


@row_statistic("effective_tokens", "tokens", "1/T Σ_i exp H_i")
def effective_tokens(view: ScopeView) -> torch.Tensor:
    """Perplexity of a row, exp of its entropy, as a number of tokens; 1..T. Own; averaged after exp, not before."""
    return view.entropies.exp()


@row_statistic("confidence", "share", "1/T Σ_i max_j p_{ij}")
def confidence(view: ScopeView) -> torch.Tensor:
    """Largest weight of a row; 1/T..1. Voita et al. 2019, section 4, who leave out the end-of-sentence token as key.

    Here every key in scope counts; the content scope leaves out all special tokens, and renormalizes.
    """
    return largest(view.weights)[0]


def _neighbor_share(view: ScopeView, offset: int) -> torch.Tensor:
    columns, present = view.neighbors(offset)
    weights = view.weights[..., torch.arange(len(columns)), columns]
    return torch.where(present, weights, torch.nan)


def _special_share(view: ScopeView, name: str) -> torch.Tensor:
    mask = view.classes[name]
    shares = view.weights @ mask.double()
    return shares if mask.any() else torch.full_like(shares, torch.nan)
