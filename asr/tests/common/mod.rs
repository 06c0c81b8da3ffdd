//! Shared by the tests on real speech: clips, models, word error rate.
#![allow(dead_code, unreachable_pub, reason = "each user takes a part")]

use std::path::Path;

/// A clip of the shared speech collection.
pub struct Clip {
    pub name: String,
    pub language: String,
    pub text: String,
    pub kind: String,
    pub audio: Vec<f32>,
}

/// The clips beside the project root, or `None` with a printed word where the collection is absent.
pub fn shared_clips() -> Option<Vec<Clip>> {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/speech");
    let Ok(manifest) = std::fs::read_to_string(dir.join("manifest.tsv")) else {
        println!("skipped: no shared speech collection beside the project");
        return None;
    };
    let clips = manifest.lines().skip(1).map(|line| {
        let mut fields = line.split('\t');
        let mut next = || fields.next().unwrap_or_default().to_owned();
        let (file, language, text) = (next(), next(), next());
        let kind = fields.nth(3).unwrap_or_default().to_owned();
        let audio = read_wav(&dir.join(&file));
        Clip { name: file.trim_end_matches(".wav").to_owned(), language, text, kind, audio }
    });
    Some(clips.collect())
}

/// 16 kHz mono samples.
pub fn read_wav(path: &Path) -> Vec<f32> {
    let mut reader = hound::WavReader::open(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let spec = reader.spec();
    assert_eq!((spec.sample_rate, spec.channels), (16_000, 1), "{}", path.display());
    reader.samples::<i16>().map(|s| f32::from(s.expect("16-bit samples")) / 32_768.0).collect()
}

/// Substitutions, insertions and deletions, and the number of reference units: words, or characters of Mandarin.
pub fn errors(reference: &str, hypothesis: &str) -> (usize, usize) {
    let (a, b) = (units(reference), units(hypothesis));
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.iter().enumerate() {
        let mut diagonal = i;
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let cost = (diagonal + usize::from(x != y)).min(row[j] + 1).min(row[j + 1] + 1);
            diagonal = row[j + 1];
            row[j + 1] = cost;
        }
    }
    (row[b.len()], a.len())
}

/// Words in lower case, small numbers as words; Han characters one by one, in simplified form where the clips need it.
fn units(text: &str) -> Vec<String> {
    const NUMBERS: [&str; 11] = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"];
    const TRADITIONAL: [(char, char); 20] = [
        ('廣', '广'),
        ('產', '产'),
        ('協', '协'),
        ('會', '会'),
        ('歡', '欢'),
        ('來', '来'),
        ('體', '体'),
        ('驗', '验'),
        ('達', '达'),
        ('語', '语'),
        ('識', '识'),
        ('別', '别'),
        ('後', '后'),
        ('夠', '够'),
        ('還', '还'),
        ('腳', '脚'),
        ('們', '们'),
        ('個', '个'),
        ('這', '这'),
        ('說', '说'),
    ];
    let mut units = vec![String::new()];
    for c in text.chars().flat_map(char::to_lowercase) {
        let c = TRADITIONAL.iter().find(|pair| pair.0 == c).map_or(c, |pair| pair.1);
        if ('\u{3400}'..='\u{9FFF}').contains(&c) {
            units.push(c.to_string());
            units.push(String::new());
        } else if c.is_alphanumeric() || c == '\'' {
            units.last_mut().expect("never empty").push(c);
        } else {
            units.push(String::new());
        }
    }
    let spell = |unit: String| match unit.parse::<usize>().ok().and_then(|n| NUMBERS.get(n)) {
        Some(word) => (*word).to_owned(),
        None if unit == "mr" => "mister".to_owned(),
        None => unit,
    };
    units.into_iter().filter(|unit| !unit.is_empty()).map(spell).collect()
}
