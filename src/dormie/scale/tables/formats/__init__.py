"""The formats of rows files, one a file: each has a function that opens a path as a `RowsFile`."""
