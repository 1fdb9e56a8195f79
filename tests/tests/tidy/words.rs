//! Words that are not used, and the words in their place.

/// Words by the words that say the same to every reader. They stand here in halves, so that this file may be read, too.
const REPLACED: [([&str; 2], &str); 10] = [
    (["an", "ew"], "again; of a file, a new file"),
    (["who", "ever"], "the caller, reader, session or operator"),
    (["no", "body"], "no rTask, reader or caller"),
    (["some", "body"], "an rTask, a reader or the user"),
    (["brought ", "near"], "prefetched, loaded into the cache"),
    (["bring ", "near"], "prefetch, load into the cache"),
    (["dear", "est"], "most expensive; of a chain, the critical path"),
    (["time of ", "units"], "unit-time (units × duration)"),
    (["so-", "manieth"], "every n-th"),
    (["completion ", "the end"], "completion implies"),
];

/// Every use of such a word, with what to write.
pub fn unused(text: &str) -> Vec<String> {
    let lines = text.lines().enumerate();
    let replaced = |(number, line): (usize, &str)| {
        let lower = line.to_lowercase();
        let used = REPLACED.iter().filter(move |(halves, _)| has_word(&lower, &halves.concat()));
        used.map(move |(halves, instead)| format!("line {}: `{}`: write {instead}", number + 1, halves.concat()))
            .collect::<Vec<_>>()
    };
    lines.flat_map(replaced).collect()
}

/// Whether a line has a word as a whole.
fn has_word(line: &str, word: &str) -> bool {
    let is_part =
        |character: Option<char>| character.is_some_and(|character| character.is_alphanumeric() || character == '_');
    line.match_indices(word)
        .any(|(at, _)| !is_part(line[..at].chars().next_back()) && !is_part(line[at + word.len()..].chars().next()))
}
