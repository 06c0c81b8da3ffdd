//! The only code that may reach a network: brings catalogue files through ordinary package clients.
