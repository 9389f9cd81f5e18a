"""What every method computes with.

backend        native or NumPy, chosen once            feature_space   w: which inner products with it are known
evaluate       the full sum and its bounds             greedy_order    which points to take first
reference      the same in NumPy                       cholesky        triangular factors
source_sum     the model's own sum, repeated           k_means         clusters of points or rows
rounding       how far float64 may be off              synthetic_rows  rows like the support vectors
blas_threads   BLAS with one thread                    binomial        the p-value of a certified risk
"""
