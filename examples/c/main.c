/* A C program that calls the exported softmax on a matrix of 2 rows, and tries one of the wrong shape. */
#include <stdio.h>

#include "softmax.h"

int main(void) {
  float x[2][4] = {{0, 1, 2, 3}, {1, 1, 1, 1}}, y[2][4];
  const int64_t shape[2] = {2, 4}, wrong[2] = {2, 3};
  const tirscript_array X = tirscript_array_of(x, TIRSCRIPT_FLOAT32, 2, shape);
  tirscript_array Y = tirscript_array_of(y, TIRSCRIPT_FLOAT32, 2, shape);

  if (softmax(&X, &Y) != TIRSCRIPT_OK) {
    fprintf(stderr, "%s\n", kernels_message());
    return 1;
  }
  for (int row = 0; row < 2; ++row)
    printf("%.6f %.6f %.6f %.6f\n", y[row][0], y[row][1], y[row][2], y[row][3]);

  Y.shape = wrong;
  if (softmax(&X, &Y) == TIRSCRIPT_ARGUMENT) printf("%s\n", kernels_message());
  return 0;
}
