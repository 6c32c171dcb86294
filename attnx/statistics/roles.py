"""The roles a head can have over several texts: a statistic's mean over them that reaches a threshold."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Role:
    """A role: the sign it has in a picture of all heads, and the score that makes it.

    `chance` tells that a head that looks evenly gets one over the number of tokens, which in very short texts comes
    close to the threshold.
    """

    name: str
    sign: str
    scope: str
    statistic: str
    threshold: float
    chance: bool = False

    def tells(self, even: float) -> bool:
        """Tell whether the role says something where a head that looks evenly gets `even`: not half the threshold."""
        return not (self.chance and 2 * even > self.threshold)


ROLES = (
    # Clark et al. 2019, section 3.1: more than half of the attention on one neighbor.
    Role("previous", "←", "all", "previous_share", 0.5, chance=True),
    Role("next", "→", "all", "next_share", 0.5, chance=True),
    Role("self", "●", "all", "self_share", 0.5, chance=True),
    # Voita et al. 2019, section 5.1.
    Role("positional", "↔", "content", "positional_rate", 0.9),
    # Gu et al. 2025, section 3.2, for 64 tokens.
    Role("sink", "▼", "all", "sink", 0.3, chance=True),
    # Own; special tokens, which often take most, are left out.
    Role("punctuation", "¶", "content", "punctuation_share", 0.5),
    # Voita et al. 2019, section 4: their positional heads have a confidence above 80 %.
    Role("sharp", "◆", "content", "confidence", 0.8),
    # Own: nearly the entropy of a head that looks evenly. Clark et al. 2019 use 3.8 nats, 0.78 of ln 128.
    Role("broad", "≡", "content", "normalized_entropy", 0.9),
)
