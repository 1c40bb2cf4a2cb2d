//! Runs other programs to their end, streamed or collected, and names the command in every error.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

/// Runs a command with its output on the terminal.
pub(crate) fn run(command: &mut Command) -> Result<()> {
    let status = command.status().with_context(|| not_started(command))?;
    if !status.success() {
        bail!("{} ended with {status}", line(command));
    }
    Ok(())
}

/// Runs a command with its errors on the terminal and returns its output.
pub(crate) fn output(command: &mut Command) -> Result<String> {
    let output = command
        .stderr(Stdio::inherit())
        .output()
        .with_context(|| not_started(command))?;
    if !output.status.success() {
        bail!("{} ended with {}", line(command), output.status);
    }
    String::from_utf8(output.stdout)
        .with_context(|| format!("the output of {} is not UTF-8", line(command)))
}

/// Runs a command, passes on each line of its standard output as it arrives, and returns whether it
/// succeeded. Bytes that are not UTF-8 are replaced: a test may print anything.
pub(crate) fn stream(command: &mut Command, mut each: impl FnMut(&str)) -> Result<bool> {
    let mut child = command
        .stdout(Stdio::piped())
        .spawn()
        .with_context(|| not_started(command))?;
    if let Some(stdout) = child.stdout.take() {
        for bytes in BufReader::new(stdout).split(b'\n') {
            let bytes = bytes.with_context(|| format!("read the output of {}", line(command)))?;
            each(&String::from_utf8_lossy(&bytes));
        }
    }
    let status = child
        .wait()
        .with_context(|| format!("wait for {}", line(command)))?;
    Ok(status.success())
}

/// A command as it would be typed.
pub(crate) fn line(command: &Command) -> String {
    let mut words = vec![command.get_program().to_string_lossy()];
    words.extend(command.get_args().map(|word| word.to_string_lossy()));
    words.join(" ")
}

fn not_started(command: &Command) -> String {
    format!(
        "could not start `{}`; check that it is installed and in PATH",
        line(command)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        command
    }

    #[test]
    fn lines_and_success_come_through() {
        let table: [(&str, &[&str], bool); 4] = [
            ("echo one; echo two", &["one", "two"], true),
            ("printf 'no newline'", &["no newline"], true),
            ("printf '\\377\\n'; exit 3", &["\u{fffd}"], false),
            ("kill -9 $$", &[], false),
        ];
        for (script, lines, success) in table {
            let mut seen = Vec::new();
            let ended = stream(&mut shell(script), |line| seen.push(line.to_owned())).unwrap();
            assert_eq!(seen, lines, "{script}");
            assert_eq!(ended, success, "{script}");
        }
    }

    #[test]
    fn errors_name_the_command() {
        let missing = output(&mut Command::new("/nowhere/at-all")).unwrap_err();
        assert!(missing.to_string().contains("/nowhere/at-all"), "{missing}");
        let failing = run(&mut shell("exit 7")).unwrap_err();
        assert!(failing.to_string().contains("exit 7"), "{failing}");
    }
}
