"""What every method computes with.

backend           native core or NumPy, chosen once      feature_space   inner products with w, and their errors
evaluate          the full sum and its error bound       greedy_order    orders in which to take points
reference         the same in NumPy                      cholesky        triangular factors
source_sum        the model's own sum, repeated          k_means         clusters of points or rows
source_reference  the same in NumPy                      synthetic_rows  rows like the support vectors
rounding          bounds on float64 rounding             binomial        the p-value of a certified risk
rough             rows that are projected in float32
blas_threads      BLAS with one thread

Bounds are derived where they are computed: the rounding of Gram matrices and of the model's own sum in `rounding`, that
of rows in the native core in native/core/rounding.hpp, the geometry bound in `dormie.methods.geometry.span`, and the
reduced-set bound in `dormie.methods.reduced_set.stage`.
"""
