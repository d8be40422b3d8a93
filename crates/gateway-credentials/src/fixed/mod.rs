//! Values that are the same for everybody: from the environment, a file, or what a command prints.
