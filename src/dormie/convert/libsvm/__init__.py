"""LIBSVM text models: `reader`, `writer`, and `text`, the parsing of lines and numbers."""
