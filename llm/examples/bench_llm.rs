//! Prints the report of `pocket-voice bench llm` for one model file.
//!
//! `cargo run --release -p pocket-voice-llm --example bench_llm -- MODEL [threads]`

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut args = std::env::args().skip(1);
    let path = args.next().ok_or("usage: bench_llm MODEL [threads]")?;
    let mut plan = llm::bench::Plan::default();
    if let Some(threads) = args.next() {
        plan.threads = threads.parse()?;
    }
    let report = llm::bench::run(path.as_ref(), &plan)?;
    println!("{}", serde_json::to_string_pretty(&report)?);
    Ok(())
}
