"""scikit-learn models: `reader`, with one file for each family of models, and `writer`."""
