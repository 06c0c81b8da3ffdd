//! Packed low-bit weights and the kernels over them, with a scalar reference as their oracle.
