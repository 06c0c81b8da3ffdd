//! The end of a Mandarin transcript.

use super::{Closed, Ending, Open, TextCue, numbers};

const FILLERS: [&str; 12] =
    ["嗯", "呃", "额", "唔", "那个", "这个", "就是说", "怎么说呢", "我想想", "让我想想", "你知道", "我看看"];

const CONJUNCTIONS: [&str; 34] = [
    "然后",
    "因为",
    "所以",
    "但是",
    "可是",
    "不过",
    "而且",
    "或者",
    "还有",
    "如果",
    "要是",
    "虽然",
    "假如",
    "以及",
    "并且",
    "另外",
    "比如",
    "比如说",
    "例如",
    "就是",
    "的话",
    "的时候",
    "以后",
    "之后",
    "之前",
    "除了",
    "除非",
    "只要",
    "只有",
    "无论",
    "不管",
    "由于",
    "为了",
    "接着",
];

/// Verbs and particles that want something behind them.
const FUNCTION: [&str; 30] = [
    "和",
    "跟",
    "与",
    "及",
    "把",
    "被",
    "给我",
    "在",
    "从",
    "向",
    "往",
    "对于",
    "关于",
    "是",
    "我想",
    "我想要",
    "我要",
    "我需要",
    "请问",
    "请帮我",
    "帮我",
    "能不能",
    "可不可以",
    "可以帮我",
    "一个",
    "一下子",
    "想要",
    "很",
    "非常",
    "最",
];

/// Ends that close a question or a request.
const CLOSING: [&str; 9] = ["吗", "呢", "吧", "么", "没有", "什么", "多少", "怎么办", "怎么样"];

const REPLIES: [&str; 24] = [
    "好",
    "好的",
    "好吧",
    "行",
    "可以",
    "对",
    "对的",
    "是的",
    "没错",
    "不是",
    "不用",
    "不用了",
    "不要",
    "没有",
    "谢谢",
    "谢谢你",
    "多谢",
    "再见",
    "拜拜",
    "你好",
    "停",
    "停下",
    "够了",
    "明白了",
];

pub(super) fn cue(text: &str, ending: Ending) -> TextCue {
    let body = text.trim_end_matches(|c: char| !c.is_alphanumeric());
    let clause = body.rsplit(['。', '？', '！', '，', '、', '；', '.', '?', '!', ',']).next().unwrap_or(body).trim();
    let ends_with = |list: &[&str]| list.iter().any(|word| clause.ends_with(word));

    if REPLIES.contains(&clause) {
        let goes_on = ending == Ending::Continuing;
        return if goes_on { TextCue::Undecided } else { TextCue::Finished(Closed::Reply) };
    }
    // Before the fillers, which "怎么说呢" belongs to although it ends like a question.
    if ends_with(&FILLERS) && ending != Ending::Question {
        return TextCue::Unfinished(Open::Filler);
    }
    if let Some(verdict) = numbers::mandarin(body) {
        return verdict;
    }
    if ending == Ending::Question {
        return TextCue::Finished(Closed::Question);
    }
    if ends_with(&CONJUNCTIONS) {
        return TextCue::Unfinished(Open::Conjunction);
    }
    if ends_with(&CLOSING) && ending != Ending::Continuing {
        return TextCue::Finished(Closed::Question);
    }
    // "也是", "还是", "不是" end answers; a bare "是" wants its noun.
    let whole = ["也是", "还是", "不是", "都是", "就在", "现在", "正在"];
    if ends_with(&FUNCTION) && !ends_with(&whole) {
        return TextCue::Unfinished(Open::Function);
    }
    match ending {
        Ending::Continuing => TextCue::Unfinished(Open::Punctuation),
        Ending::FullStop if clause.chars().count() >= 4 => TextCue::Finished(Closed::Sentence),
        _ => TextCue::Undecided,
    }
}
