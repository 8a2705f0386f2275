"""What running a program needs beside its code: arguments, arrays and library functions."""
