//! Catalogue of models: what they are, where they lie, whether they are whole.
