from hypothesis import settings

# A busy computer is no failure, and a failure must come back when the test is run again.
settings.register_profile("dormie", deadline=None, derandomize=True)
settings.load_profile("dormie")
