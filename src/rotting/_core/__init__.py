"""What everything rests on: compiling, randomness, parameters, parsing, files."""
