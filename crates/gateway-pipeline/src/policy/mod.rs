//! Who may do what (P-49 to P-55).
