"""The running software's version: stored with whatever it makes."""

VERSION = "0.1.0"
