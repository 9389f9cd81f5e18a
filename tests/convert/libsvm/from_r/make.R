# Makes the files of this folder: models that e1071 wrote, the rows they were trained on, and what R predicts for these.
# Run it in this folder: Rscript make.R (Debian has R with e1071 as r-cran-e1071).
library(e1071)
set.seed(1)

x <- cbind(a = round(rnorm(24, 5, 2), 2), b = round(rnorm(24, -300, 40), 1), c = round(rexp(24), 3))
level <- factor(c("low", "middle", "high")[1 + (x[, 1] > 4) + (x[, 1] > 6)])
value <- sin(x[, 1]) + x[, 2] / 100

models <- list(
  three = svm(x, level, gamma = 0.5),
  two = svm(x, factor(x[, 1] > 5), kernel = "polynomial", degree = 2, coef0 = 1, probability = TRUE),
  value = svm(x, value),
  unscaled = svm(x, value, scale = FALSE, kernel = "linear"),
  inside = svm(x, type = "one-classification", nu = 0.3)
)

table <- function(values, file) write.table(format(values, digits = 16), file, col.names = FALSE, row.names = FALSE, quote = FALSE)
table(x, "rows.txt")
for (name in names(models)) {
  write.svm(models[[name]], paste0(name, ".svm"), paste0(name, ".scale"), paste0(name, ".yscale"))
  predicted <- predict(models[[name]], x, decision.values = TRUE, probability = name == "two")
  table(cbind(as.numeric(predicted), attr(predicted, "decision.values"), attr(predicted, "probabilities")), paste0(name, ".txt"))
}
