//! Which operations are offered (E-36 to E-38).
