//! Names that resemble a misspelt one.

/// The `count` candidates that take the fewest single-character edits to reach from `name`, best first.
pub(crate) fn nearest<'a>(name: &str, candidates: impl Iterator<Item = &'a str>, count: usize) -> Vec<&'a str> {
    let name = normalised(name);
    let mut ranked: Vec<(usize, &str)> =
        candidates.map(|candidate| (distance(&name, &normalised(candidate)), candidate)).collect();
    ranked.sort();
    ranked.into_iter().take(count).map(|(_, candidate)| candidate).collect()
}

/// Letters and digits only, in lower case.
fn normalised(name: &str) -> Vec<char> {
    name.chars().filter(|character| character.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

/// Levenshtein's distance.
fn distance(left: &[char], right: &[char]) -> usize {
    let mut row: Vec<usize> = (0..=right.len()).collect();
    for (at, character) in left.iter().enumerate() {
        let mut diagonal = row[0];
        row[0] = at + 1;
        for (column, other) in right.iter().enumerate() {
            let substituted = diagonal + usize::from(character != other);
            diagonal = row[column + 1];
            row[column + 1] = substituted.min(diagonal + 1).min(row[column] + 1);
        }
    }
    row[right.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_name_comes_first() {
        let names = ["resnet50", "resnext50", "vgg16"];
        assert_eq!(nearest("ResNet-5O", names.into_iter(), 2), ["resnet50", "resnext50"]);
        assert_eq!(nearest("vgg19", names.into_iter(), 1), ["vgg16"]);
    }
}
