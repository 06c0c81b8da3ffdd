//! ONNX Runtime, loaded once per process from the models directory.
