//! Damaged and contradicting Hugging Face files.

use super::*;
use std::panic::catch_unwind;

fn directory() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/mnn-tiny/qwen3-hf")
}

fn config_json() -> Value {
    read_json(&directory().join("config.json")).unwrap()
}

fn load(config: &Value, file: Vec<u8>) -> Result<()> {
    let (config, shape) = shape::config(Path::new("config.json"), config)?;
    let mut tensors = Tensors { by_name: HashMap::new(), dir: "model".into() };
    tensors.add_bytes(Path::new("model.safetensors"), Bytes::from(file))?;
    layout::model(&tensors, config, &shape).map(|_| ())
}

#[test]
fn mangled_headers_never_panic() {
    let whole = std::fs::read(directory().join("model.safetensors")).unwrap();
    let config = config_json();
    assert!(load(&config, whole.clone()).is_ok());
    let header = 8 + u64::from_le_bytes(whole[..8].try_into().unwrap()) as usize;
    let mut refused = 0;
    for at in (0..header).step_by(7) {
        for flip in [0x01, 0x80] {
            let mut bytes = whole.clone();
            bytes[at] ^= flip;
            let accepted = catch_unwind(|| load(&config, bytes).is_ok());
            refused += usize::from(!accepted.unwrap_or_else(|_| panic!("panicked on byte {at} ^ {flip:#x}")));
        }
    }
    assert!(refused > 100, "{refused}");
    for len in [0, 7, 8, header, whole.len() - 1] {
        assert!(load(&config, whole[..len].to_vec()).is_err(), "{len} bytes");
    }
    let mut huge = whole;
    huge[..8].fill(0xff);
    assert!(load(&config, huge).is_err());
}

#[test]
fn a_config_that_contradicts_the_tensors_is_named() {
    let whole = std::fs::read(directory().join("model.safetensors")).unwrap();
    let cases = [
        ("num_hidden_layers", Value::from(3), "model.layers.2.input_layernorm.weight: is missing"),
        ("num_hidden_layers", Value::from(u64::MAX), "layers"),
        ("hidden_size", Value::from(64), "model.embed_tokens.weight: shape [608, 128], expected [608, 64]"),
        ("hidden_size", Value::from(-1), "invalid value"),
        ("head_dim", Value::from(33), "head size"),
        ("num_key_value_heads", Value::from(3), "do not divide"),
        ("num_attention_heads", Value::from(0), "attention heads"),
        ("vocab_size", Value::from(609), "model.embed_tokens.weight: shape"),
        ("model_type", Value::from("mamba"), "\"mamba\" is not supported"),
        ("hidden_act", Value::from("relu"), "\"relu\" is not supported"),
        ("rope_theta", Value::from(-1.0), "rope_theta"),
        ("rope_scaling", serde_json::json!({"rope_type": "yarn", "factor": 4.0}), "\"yarn\" is not supported"),
        ("rope_scaling", serde_json::json!({"rope_type": "linear"}), "factor: is missing"),
        ("rms_norm_eps", Value::from(0.0), "RMSNorm epsilon"),
        ("tie_word_embeddings", Value::from(false), "lm_head.weight: is missing"),
        ("use_sliding_window", Value::from(true), "a sliding window is not supported"),
    ];
    for (key, value, expected) in cases {
        let mut config = config_json();
        config[key] = value;
        let error = load(&config, whole.clone()).unwrap_err().to_string();
        assert!(error.contains(expected), "{key}: {error}");
    }
}

#[test]
fn mangled_tokenizers_never_panic() {
    let path = Path::new("tokenizer.json");
    let whole = std::fs::read(directory().join("tokenizer.json")).unwrap();
    for at in (0..whole.len()).step_by(43) {
        for replacement in [b'0', b'"', b'{', 0xff] {
            let mut bytes = whole.clone();
            bytes[at] = replacement;
            let outcome = catch_unwind(|| {
                if let Ok(tokenizer) = json::tokenizer(path, &bytes, vec![602]) {
                    let _ = tokenizer.encode("Hello, 你好 <|im_end|> 123");
                }
            });
            assert!(outcome.is_ok(), "panicked on byte {at} = {replacement:#x}");
        }
    }
    let tokenizer = |vocab: &str, merges: &str| {
        let json = format!(r#"{{"model": {{"type": "BPE", "vocab": {vocab}, "merges": {merges}}}}}"#);
        json::tokenizer(path, json.as_bytes(), Vec::new()).map(|_| ()).map_err(|e| e.to_string())
    };
    assert!(tokenizer(r#"{"a": 4294967295}"#, "[]").unwrap_err().contains("beyond"));
    // Two long halves of no token: the merge is dropped.
    assert_eq!(tokenizer(r#"{"aaaa": 0, "bbbb": 1}"#, r#"["aaaa bbbb", ["bbbb", "aaaa"]]"#), Ok(()));
}

#[test]
fn llama_3_stretches_long_waves_only() {
    let mut config = config_json();
    config["rope_theta"] = Value::from(500_000.0);
    let plain = shape::config(Path::new("config.json"), &config).unwrap().1.layers[0].rope.clone();
    config["rope_scaling"] = serde_json::json!({
        "rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
        "original_max_position_embeddings": 8192
    });
    let stretched = shape::config(Path::new("config.json"), &config).unwrap().1.layers[0].rope.clone();
    for (plain, stretched) in plain.iter().zip(stretched.iter()) {
        let waves = 8192.0 * plain / (2.0 * std::f32::consts::PI);
        let expected = match waves {
            w if w < 1.0 => 1.0 / 8.0,
            w if w > 4.0 => 1.0,
            w => (w - 1.0) / 3.0 + (1.0 - (w - 1.0) / 3.0) / 8.0,
        };
        assert!((stretched / plain - expected).abs() < 1e-5, "{waves} waves: {}", stretched / plain);
    }
}
