"""The version of a checkout that was never built. A build writes this module anew, from the newest tag."""

__version__ = "0.1.0.dev0"
