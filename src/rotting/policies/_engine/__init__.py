"""What policies are made of: the kernel contract, agents, histories, windows, filters, saving, explaining."""
