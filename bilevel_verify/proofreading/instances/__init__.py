"""Steps of a paper on drawn instances: letters as numbers, vectors and matrices, functions as free values."""
