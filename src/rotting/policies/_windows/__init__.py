"""How questions about windows of rewards are answered quickly: histories and their sums, filters, proofs."""
