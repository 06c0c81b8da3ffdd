//! End of turn: has the user finished? Audio and text in, a staged decision out.
