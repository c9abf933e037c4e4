"""Laws that every convolution keeps, whatever its data: they find what is wrong without any reference."""
