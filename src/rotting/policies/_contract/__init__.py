"""What a policy is: its kernel and state, how it is defined and checked, agents, saving, explaining."""
