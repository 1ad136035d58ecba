//! Words of a text for full-text search, without case and accents.

/// The words of a text, each between two spaces: ` hello world `. A phrase is part of a text if its
/// words are part of the text's in this form, so a database needs no more than to look for a substring.
///
/// None if there are no words.
pub(super) fn phrase(text: &str) -> Option<String> {
    let mut words = String::from(" ");
    for c in text.chars().filter(|c| !is_accent(*c)) {
        if c.is_alphanumeric() {
            words.extend(c.to_lowercase().filter(|c| !is_accent(*c)).map(without_accent));
        } else if !words.ends_with(' ') {
            words.push(' ');
        }
    }
    if !words.ends_with(' ') {
        words.push(' ');
    }
    (words.len() > 1).then_some(words)
}

/// Accents of their own, after the letter they belong to.
fn is_accent(c: char) -> bool {
    ('\u{300}'..='\u{36f}').contains(&c)
}

/// The letter under the accent, for the Latin letters of Europe.
fn without_accent(c: char) -> char {
    const BASES: [(char, &str); 24] = [
        ('a', "àáâãäåāăą"),
        ('c', "çćĉċč"),
        ('d', "ď"),
        ('e', "èéêëēĕėęě"),
        ('g', "ĝğġģ"),
        ('h', "ĥ"),
        ('i', "ìíîïĩīĭį"),
        ('j', "ĵ"),
        ('k', "ķ"),
        ('l', "ĺļľ"),
        ('n', "ñńņň"),
        ('o', "òóôõöōŏőơǒ"),
        ('r', "ŕŗř"),
        ('s', "śŝşšș"),
        ('t', "ţťț"),
        ('u', "ùúûüũūŭůűųưǔ"),
        ('w', "ŵ"),
        ('y', "ýÿŷ"),
        ('z', "źżž"),
        ('α', "ά"),
        ('ε', "έ"),
        ('η', "ή"),
        ('ι', "ί"),
        ('ο', "ό"),
    ];
    if c.is_ascii() {
        return c;
    }
    BASES.iter().find(|(_, accented)| accented.contains(c)).map_or(c, |(base, _)| *base)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_letters_and_digits_without_case_and_accents() {
        let words = |text| phrase(text).unwrap();
        assert_eq!(words("Hello, World!"), " hello world ");
        assert_eq!(words("foo_bar-baz.42"), " foo bar baz 42 ");
        assert_eq!(words("naïve Café Cafe\u{301}"), " naive cafe cafe ");
        assert_eq!(words("世界 hello"), " 世界 hello ");
        assert_eq!(phrase(" -- "), None);
        assert_eq!(phrase(""), None);
    }

    #[test]
    fn a_phrase_is_found_by_whole_words() {
        let text = phrase("quick brown-fox").unwrap();
        assert!(text.contains(&phrase("brown fox").unwrap()));
        assert!(text.contains(&phrase("QUICK").unwrap()));
        assert!(!text.contains(&phrase("fox-brown").unwrap()));
        assert!(!text.contains(&phrase("bro").unwrap()));
    }
}
