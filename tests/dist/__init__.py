"""What a release publishes, tried as users will have it: `make check-dist`, and a small test run on every wheel."""
