//! Evaluation over the same pipeline as a conversation.
