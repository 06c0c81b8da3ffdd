//! Readings in context, and the way back to the characters.

use std::sync::LazyLock;

use super::*;
use crate::ClauseStream;

static MANDARIN: LazyLock<Mandarin> = LazyLock::new(Mandarin::load);

fn pinyin(text: &str) -> String {
    let words: Vec<&str> = MANDARIN.segmenter.cut(text, true).into_iter().map(|token| token.word).collect();
    let mut syllables = MANDARIN.readings.read(&words);
    sandhi::apply(&mut syllables);
    syllables.iter().map(|s| format!("{}{}", s.pinyin, s.tone)).collect::<Vec<_>>().join(" ")
}

#[test]
fn characters_are_read_by_their_words() {
    for (text, wanted) in [
        ("你好", "ni2 hao3"),
        ("银行行长", "yin2 hang2 hang2 zhang3"),
        ("我觉得很好", "wo3 jue2 de5 hen2 hao3"),
        ("他长大了", "ta1 zhang3 da4 le5"),
        ("长江很长", "chang2 jiang1 hen3 chang2"),
        ("重新开始", "chong2 xin1 kai1 shi3"),
        ("音乐", "yin1 yue4"),
        ("我得走了", "wo2 dei2 zou3 le5"),
        ("跑得快", "pao3 de5 kuai4"),
        ("慢慢地走", "man4 man4 de5 zou3"),
        ("妈妈", "ma1 ma5"),
        ("一个人", "yi2 ge5 ren2"),
        ("不是", "bu2 shi4"),
        ("两只猫", "liang3 zhi1 mao1"),
        ("便宜的东西", "pian2 yi5 de5 dong1 xi5"),
        ("首都北京", "shou3 du1 bei3 jing1"),
        ("花儿", "hua1 er5"),
        ("女儿", "nü3 er2"),
        ("为什么", "wei4 shen2 me5"),
        ("第一名", "di4 yi1 ming2"),
        ("星期一", "xing1 qi1 yi1"),
    ] {
        assert_eq!(pinyin(text), wanted, "{text}");
    }
}

#[test]
fn symbols_know_their_characters() {
    let mut stream = ClauseStream::default();
    let mut clauses = stream.push("我用iPhone听音乐，你呢？2024年5月3日，谢谢。");
    clauses.extend(stream.finish());
    for clause in &clauses {
        let symbols = MANDARIN.phonemes(clause);
        for index in 0..clause.words.len() {
            assert!(symbols.iter().any(|s| s.word == Some(index)), "word {index} of {:?} has no sound", clause.spoken);
        }
        let order: Vec<usize> = symbols.iter().filter_map(|s| s.word).collect();
        assert!(order.is_sorted(), "{:?}", clause.spoken);
    }
}
