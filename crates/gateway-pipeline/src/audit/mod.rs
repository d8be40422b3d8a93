//! One record for every call, whatever happened to it (P-58 to P-65).
