//! Brings a profile into the models directory, without making derived files: `cargo run --example fetch [PROFILE]`.

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let profile = std::env::args().nth(1);
    let store = assets::Store::open()?;
    let summary =
        fetch::profile(&store, profile.as_deref().unwrap_or(assets::DEFAULT_PROFILE), &fetch::Options::default())?;
    println!("{summary:#?}");
    for listing in store.list()? {
        println!("{:24} {:?}", listing.id, listing.state);
    }
    Ok(())
}
