"""The version of the running software, stored with the results that it makes."""

VERSION = "0.3.0.dev0"
