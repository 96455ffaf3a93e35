"""`python -m sample_data`: see `sample_data.cli`."""

from sample_data.cli import main

if __name__ == "__main__":
    raise SystemExit(main())
