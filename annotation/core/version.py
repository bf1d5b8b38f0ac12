"""The running software's version: stored with whatever it makes."""

VERSION = "0.2.0"
