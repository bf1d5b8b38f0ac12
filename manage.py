#!/usr/bin/env python3
"""The command `tandem` of a source checkout."""

from config.__main__ import main

if __name__ == "__main__":
    main()
