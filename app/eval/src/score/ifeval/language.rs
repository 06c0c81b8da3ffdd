//! Whether a text is in a language, by whatlang and, where that does not know a language, by its commonest words.

use whatlang::{Lang, detect};

/// Languages that whatlang lacks, with words that no neighbour shares in such numbers.
const BY_WORDS: &[(&str, &[&str])] =
    &[("sw", &["na", "ya", "wa", "kwa", "ni", "katika", "la", "za", "cha", "kama", "hii", "yake", "yangu", "kuwa"])];

const ENGLISH: &[&str] = &[
    "the", "and", "of", "to", "a", "in", "is", "that", "it", "for", "you", "i", "was", "with", "as", "on", "are", "be",
    "this", "have", "not", "my", "we", "your", "at", "but",
];

/// Whether `text` is in the language with this ISO 639-1 code (`zh-cn`, `zh-tw`: Chinese).
///
/// As in the original, a text with nothing to go by, such as digits alone, counts as in the language.
pub(super) fn is(text: &str, code: &str) -> bool {
    if !text.chars().any(char::is_alphabetic) {
        return true;
    }
    let code = code.to_lowercase();
    let code = code.split(['-', '_']).next().unwrap_or_default();
    if let Some((_, words)) = BY_WORDS.iter().find(|(known, _)| *known == code) {
        return share(text, words) >= 0.15;
    }
    let Some(info) = detect(text) else { return true };
    if short_code(info.lang()) == code {
        return true;
    }
    // Capitals and short texts mislead the trigrams; the commonest words do not.
    code == "en" && !info.is_reliable() && share(text, ENGLISH) >= 0.2
}

fn share(text: &str, words: &[&str]) -> f64 {
    let text = text.to_lowercase();
    let all: Vec<&str> = text.split(|c: char| !c.is_alphabetic()).filter(|word| !word.is_empty()).collect();
    let known = all.iter().filter(|word| words.contains(word)).count();
    if all.is_empty() { 0.0 } else { known as f64 / all.len() as f64 }
}

/// ISO 639-1 codes of whatlang's languages.
fn short_code(lang: Lang) -> &'static str {
    match lang {
        Lang::Afr => "af",
        Lang::Ara => "ar",
        Lang::Aze => "az",
        Lang::Bel => "be",
        Lang::Ben => "bn",
        Lang::Bul => "bg",
        Lang::Cat => "ca",
        Lang::Ces => "cs",
        Lang::Cmn => "zh",
        Lang::Dan => "da",
        Lang::Deu => "de",
        Lang::Ell => "el",
        Lang::Eng => "en",
        Lang::Epo => "eo",
        Lang::Est => "et",
        Lang::Fin => "fi",
        Lang::Fra => "fr",
        Lang::Guj => "gu",
        Lang::Heb => "he",
        Lang::Hin => "hi",
        Lang::Hrv => "hr",
        Lang::Hun => "hu",
        Lang::Hye => "hy",
        Lang::Ind => "id",
        Lang::Ita => "it",
        Lang::Jpn => "ja",
        Lang::Kan => "kn",
        Lang::Kat => "ka",
        Lang::Khm => "km",
        Lang::Kor => "ko",
        Lang::Lav => "lv",
        Lang::Lit => "lt",
        Lang::Mal => "ml",
        Lang::Mar => "mr",
        Lang::Mkd => "mk",
        Lang::Nep => "ne",
        Lang::Nld => "nl",
        Lang::Nob => "no",
        Lang::Ori => "or",
        Lang::Pan => "pa",
        Lang::Pes => "fa",
        Lang::Pol => "pl",
        Lang::Por => "pt",
        Lang::Ron => "ro",
        Lang::Rus => "ru",
        Lang::Sin => "si",
        Lang::Slk => "sk",
        Lang::Slv => "sl",
        Lang::Spa => "es",
        Lang::Srp => "sr",
        Lang::Swe => "sv",
        Lang::Tam => "ta",
        Lang::Tel => "te",
        Lang::Tgl => "tl",
        Lang::Tha => "th",
        Lang::Tur => "tr",
        Lang::Ukr => "uk",
        Lang::Urd => "ur",
        Lang::Vie => "vi",
        other => other.code(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn languages_of_the_set() {
        for (code, text) in [
            ("it", "Il gatto dorme sul divano mentre i bambini giocano in giardino con il cane."),
            ("hi", "यह एक सुंदर दिन है और हम पार्क में जा रहे हैं।"),
            ("kn", "ಇದು ಒಂದು ಸುಂದರ ದಿನ ಮತ್ತು ನಾವು ಉದ್ಯಾನಕ್ಕೆ ಹೋಗುತ್ತಿದ್ದೇವೆ."),
            ("pa", "ਇਹ ਇੱਕ ਸੁੰਦਰ ਦਿਨ ਹੈ ਅਤੇ ਅਸੀਂ ਪਾਰਕ ਜਾ ਰਹੇ ਹਾਂ।"),
            ("bg", "Днес времето е хубаво и ние отиваме в парка заедно с децата, защото обичаме да играем."),
            ("ar", "اليوم الطقس جميل ونحن نذهب إلى الحديقة مع الأطفال."),
            ("fa", "امروز هوا خوب است و ما با بچه‌ها به پارک می‌رویم تا بازی کنیم."),
            ("vi", "Hôm nay thời tiết đẹp và chúng tôi đi công viên với các con."),
            ("th", "วันนี้อากาศดีและเราไปสวนสาธารณะกับเด็ก ๆ"),
            ("pt", "Hoje o tempo está bom e nós vamos ao parque com as crianças, porque não queremos ficar em casa."),
            ("en", "THE CAT AND THE DOG ARE IN THE GARDEN."),
            ("zh-tw", "今天天氣很好，我們去公園。"),
        ] {
            assert!(is(text, code), "{code}: {text} was {:?}", detect(text).map(|i| i.lang()));
            let other = if code == "ko" { "en" } else { "ko" };
            assert!(!is(text, other), "{text}");
        }
        assert!(is("12 34", "de"), "nothing to go by counts as followed");
    }
}
