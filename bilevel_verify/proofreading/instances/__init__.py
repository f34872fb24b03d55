"""What formulas say on instances: steps on drawn numbers and vectors, remainders, rescalings."""
