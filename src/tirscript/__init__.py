"""tirscript: tensor programs as Python source you can read, transform and run."""

__version__ = "0.1.0"
