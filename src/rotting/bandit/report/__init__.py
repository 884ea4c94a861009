"""What is told of a bandit: reports, tables, figures."""
