"""From counts to evidence: what wears out, and on what that rests."""
