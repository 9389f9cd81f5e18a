"""dormie inside other engines: rasters, tables larger than memory, clusters. It runs in them and never becomes one."""
