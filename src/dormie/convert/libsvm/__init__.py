"""LIBSVM's text models: read and written."""
