"""dormie inside engines that take long to install and to start, and its pages in a browser: `make test-ecosystem`.

What is missing is a failure.

Packages are imported inside the tests, so that the usual tests pass these over without them.
"""
