"""`python -m tailwright`: the command line, for launchers that start modules, such as torchrun."""

from tailwright.cli import main

if __name__ == "__main__":
    main()
