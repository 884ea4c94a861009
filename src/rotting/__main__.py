"""`python -m rotting` is `rotting`."""

from rotting.cli import main

if __name__ == "__main__":
    main()
