//! Command lines as typed, with words in capitals for what differs from run to run.

use std::process::Command;

use crate::{debian, workspace};

/// Paths of programs, and values for words in capitals.
pub(super) type Places = Vec<(&'static str, String)>;

/// The command of a line, run in the workspace's folder.
pub(super) fn command(line: &str, places: &Places) -> Command {
    let mut words = line.split(' ').map(|word| {
        let program = places.iter().find(|(name, _)| *name == word);
        match program {
            Some((_, path)) => path.clone(),
            None => filled(word, places),
        }
    });
    let mut command = Command::new(words.next().unwrap_or_default());
    command
        .args(words)
        .env("PATH", debian::path())
        .current_dir(workspace::root());
    command
}

fn filled(word: &str, places: &Places) -> String {
    let capitals = places
        .iter()
        .filter(|(name, _)| name.chars().all(char::is_uppercase));
    capitals.fold(word.to_owned(), |word, (name, by)| word.replace(name, by))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_in_capitals_and_programs_are_filled_in() {
        let places = [
            ("go", "/bin/a go"),
            ("ADDRESS", "[::1]:8"),
            ("FILE", "/x y/z"),
        ];
        let places: Places = places.map(|(name, by)| (name, by.to_owned())).into();
        let table = [
            (
                "go --for 5s http://ADDRESS/",
                "/bin/a go --for 5s http://[::1]:8/",
            ),
            (
                "env A=ADDRESS go --log=FILE go.x",
                "env A=[::1]:8 /bin/a go --log=/x y/z go.x",
            ),
            ("wrk -t1", "wrk -t1"),
        ];
        for (line, expected) in table {
            assert_eq!(crate::command::line(&command(line, &places)), expected);
        }
        assert_eq!(command("go FILE", &places).get_args().count(), 1);
    }
}
