from hypothesis import settings

# A busy computer is no failure.
settings.register_profile("unhurried", deadline=None)
settings.load_profile("unhurried")
