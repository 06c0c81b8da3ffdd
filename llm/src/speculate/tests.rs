//! What is drafted, and when.

use super::*;

fn draft(drafter: &mut Drafter, tokens: &[TokenId], room: usize) -> Vec<TokenId> {
    let mut draft = vec![99];
    drafter.draft(tokens, room, &mut draft);
    draft
}

#[test]
fn the_last_occurrence_of_the_longest_suffix_is_continued() {
    let config = Speculation { position_cost: 0.0, ..Speculation::default() };
    let cases: [(&[TokenId], &[TokenId]); 6] = [
        (&[], &[]),
        (&[1, 2, 3], &[]),
        (&[1, 2, 3, 4, 1, 2], &[3, 4, 1, 2]),
        (&[1, 2, 3, 1, 2, 4, 1, 2], &[4, 1, 2]),
        // Three tokens match the first time, two the second: the longer match wins.
        (&[7, 1, 2, 3, 8, 1, 2, 4, 7, 1, 2], &[3, 8, 1, 2, 4, 7, 1]),
        (&[5, 5, 5], &[5]),
    ];
    for (tokens, expected) in cases {
        assert_eq!(draft(&mut Drafter::new(config.clone()), tokens, 100), expected, "{tokens:?}");
    }
}

#[test]
fn a_draft_keeps_within_the_room() {
    let tokens = [1, 2, 3, 4, 5, 1, 2];
    let free = Speculation { position_cost: 0.0, ..Speculation::default() };
    assert_eq!(draft(&mut Drafter::new(free.clone()), &tokens, 2), [3, 4]);
    assert!(draft(&mut Drafter::new(free), &tokens, 0).is_empty());
    assert!(draft(&mut Drafter::new(Speculation::off()), &tokens, 9).is_empty());
}

#[test]
fn drafts_that_fail_are_given_up_and_tried_again_rarely() {
    let tokens = [1, 2, 3, 4, 5, 6, 7, 8, 1, 2];
    let mut drafter = Drafter::new(Speculation::default());
    let mut tried = 0;
    for _ in 0..200 {
        let n = draft(&mut drafter, &tokens, 100).len();
        tried += usize::from(n > 0);
        if n > 0 {
            drafter.learn(n, 0);
        }
    }
    assert!((5..30).contains(&tried), "{tried}");
    for _ in 0..40 {
        drafter.learn(7, 7);
    }
    assert_eq!(draft(&mut drafter, &tokens, 100).len(), 7);
}
