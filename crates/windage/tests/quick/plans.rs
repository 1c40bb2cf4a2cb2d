//! Plans for the built-in service, short enough for tests.

/// The parts of a plan; a test replaces those that it is about.
pub(crate) struct Plan<'a> {
    pub(crate) name: &'a str,
    /// The `[[service]]`.
    pub(crate) service: &'a str,
    pub(crate) request: &'a str,
    /// More keys of `[load]`.
    pub(crate) load: &'a str,
    /// Arms other than the baseline `off`.
    pub(crate) arms: &'a str,
    pub(crate) window: &'a str,
    pub(crate) rounds: u32,
    pub(crate) length: &'a str,
    /// Keys of `[design]` without a field of their own.
    pub(crate) design: &'a str,
}

/// Load for a moment only.
pub(crate) const BRIEF: &str = "warmup = '50ms'\ndrain = '50ms'\nidle = '50ms'";

impl Default for Plan<'_> {
    fn default() -> Self {
        Plan {
            name: "small",
            service: "name = 'app'\n\
                command = ['{windage}', '__demo-service', '--listen', '{listen}']\n\
                ready = { http = '/healthz', within = '20s' }",
            request: "GET http://{app}/orders/17?limit=10",
            load: "",
            arms: "[[arm]]\nname = 'Same, again'",
            window: "20ms",
            rounds: 2,
            length: "600ms",
            design: BRIEF,
        }
    }
}

impl Plan<'_> {
    pub(crate) fn text(&self) -> String {
        let Plan {
            name,
            service,
            request,
            load,
            arms,
            window,
            rounds,
            length,
            design,
        } = self;
        format!(
            "name = '{name}'\n\n\
             [build.versions]\nshell = 'echo; echo shell 1.2'\ngone = 'exit 7'\n\n[[service]]\n{service}\n\n\
             [load]\nmodel = 'closed'\nconnections = 2\nrequest = '{request}'\n{load}\n\n\
             [[arm]]\nname = 'off'\nbaseline = true\n\n{arms}\n\n\
             [design]\nwindow = '{window}'\nsettle = '2ms'\nrounds = {rounds}\nfor = '{length}'\n{design}\n"
        )
    }
}

/// The built-in service. Where `DIES` is set it is killed after 600 ms of CPU: in the middle of its
/// load (`busy`), or while it has nothing to do (`idle`).
pub(crate) const DOOMED: &str = r#"name = 'app'
command = ['/bin/sh', '-c', '''
# The pid as /proc shows it, which may differ from $$ in a pid namespace.
read -r pid rest < /proc/self/stat
spent() { read -r used rest < /proc/$pid/schedstat; }
if [ -n "$DIES" ]; then (
    while spent && [ "$used" -lt 600000000 ]; do sleep 0.01; done
    last=none
    while [ "$DIES" = idle ] && [ "$used" != "$last" ]; do last=$used; sleep 0.05; spent; done
    echo these are the last words
    kill -9 $$
) & fi
exec "$@"
''', 'app', '{windage}', '__demo-service', '--listen', '{listen}']
ready = { http = '/healthz', within = '20s' }"#;
