"""scikit-learn's models: read, one file a family, and written."""
