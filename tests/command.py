"""The command line as a script that `scripts.start_script` can start."""

from tailwright.cli import main

if __name__ == "__main__":
    main()
