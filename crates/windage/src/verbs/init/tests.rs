use clap::Parser;
use windage_model::LoadModel;
use windage_plan::Origin;

use super::*;
use crate::cli::{Cli, Verb};

fn flags(line: &str) -> InitFlags {
    let words = shlex::split(line).unwrap();
    let words = ["windage", "init"]
        .map(str::to_owned)
        .into_iter()
        .chain(words);
    match Cli::try_parse_from(words)
        .unwrap_or_else(|e| panic!("{line}: {e}"))
        .verb
    {
        Verb::Init(flags) => flags,
        other => panic!("{other:?}"),
    }
}

fn plan(line: &str) -> Plan {
    let draft = checked(&flags(line), 2).unwrap_or_else(|e| panic!("{line}: {e:?}"));
    Plan::parse(&draft.text, "plan.toml", Path::new("/")).unwrap()
}

fn errors(line: &str) -> String {
    let errors = checked(&flags(line), 2).expect_err(line);
    let lines: Vec<String> = errors.iter().map(ToString::to_string).collect();
    lines.join("\n")
}

#[test]
fn a_plan_for_a_service_that_is_launched() {
    let draft = checked(
        &flags("--command 'bin/app -listen {listen}' --env TELEMETRY=otel --otlp"),
        2,
    );
    insta::assert_snapshot!(draft.unwrap().text);
}

#[test]
fn a_plan_for_a_service_that_runs() {
    let draft = checked(
        &flags("--attach 4711 --url http://127.0.0.1:8080/a --sweep sampling=1.0,0.1 --rate 100/s"),
        2,
    );
    insta::assert_snapshot!(draft.unwrap().text);
}

#[test]
fn flags_arrive_in_the_plan() {
    let plan = plan(
        "--name n-1 --command \"bin/app 'two words' {listen}\" --url 'http://{app}/a?b=\"c' \
         --method POST --rate 2000/s --connections 3 --env 'A=say \"hi\" \\ \u{e9}' --env B.C={sampling} \
         --sweep sampling=1.0,0.1,200ms --cpus 1 --otlp",
    );
    assert_eq!(plan.name, "n-1");
    let Origin::Command(words) = &plan.services[0].origin else {
        panic!("{:?}", plan.services[0].origin)
    };
    let words: Vec<&str> = words.iter().map(|word| word.as_str()).collect();
    assert_eq!(words, ["bin/app", "two words", "{listen}"]);
    assert_eq!(plan.services[0].cpus, Some(vec![1]));
    let load = &plan.load;
    assert_eq!(
        (load.model, load.rate_per_s),
        (LoadModel::Open, Some(2000.0))
    );
    assert_eq!((load.connections, &load.cpus), (3, &Some(vec![0])));
    let request = load.request.as_ref().unwrap();
    assert_eq!(request.method, "POST");
    assert_eq!(request.url.as_str(), "http://{app}/a?b=\"c");
    let ids: Vec<&str> = plan.arms.iter().map(|arm| arm.id.as_str()).collect();
    let swept = ["1.0", "0.1", "200ms"].map(|level| format!("telemetry-sampling-{level}"));
    assert_eq!(
        ids,
        [&["off".to_owned(), "control".to_owned()], &swept[..]].concat()
    );
    let env = |key: &str| plan.arms[2].env.get(key)?.template().map(|t| t.as_str());
    assert_eq!(env("A"), Some("say \"hi\" \\ \u{e9}"));
    assert_eq!(env("B.C"), Some("{sampling}"));
    assert_eq!(env("OTEL_EXPORTER_OTLP_ENDPOINT"), Some("{otlp_http}"));
    assert!(plan.arms[0].env.is_empty());
}

#[test]
fn spelled_out_values_equal_the_defaults() {
    let drafted = plan("--command 'x {listen}'");
    let silent = Plan::parse(
        "name = \"x\"\n[[service]]\nname = \"app\"\ncommand = [\"x\", \"{listen}\"]\n\
         [load]\nmodel = \"closed\"\nrequest = \"GET http://{app}/\"\n\
         [[arm]]\nname = \"off\"\nbaseline = true\n",
        "plan.toml",
        Path::new("/"),
    )
    .unwrap();
    assert_eq!(drafted.design, silent.design);
    assert_eq!(drafted.load.connections, silent.load.connections);
    assert_eq!(drafted.services[0].ready, silent.services[0].ready);
}

#[test]
fn commented_keys_are_valid() {
    let draft = checked(
        &flags("--command 'x {listen}' --otlp --sweep s=1.0 --env A={s}"),
        2,
    );
    let text = draft.unwrap().text;
    for (line, key) in [
        ("# ready = {", "ready"),
        ("# env = {", "env"),
        ("# connections = ", "connections"),
        ("# expect = ", "expect"),
        ("# [build]\n# commands = ", "build"),
    ] {
        let uncommented = text.replace(line, &line.replace("# ", ""));
        assert_ne!(text, uncommented, "{key} is not offered");
        if let Err(error) = Plan::parse(&uncommented, "plan.toml", Path::new("/")) {
            panic!("{key}: {}", error.render(false));
        }
    }
}

#[test]
fn errors_name_the_flag() {
    let table = [
        ("--command \"x 'y\"", "--command: a quote is not closed"),
        ("--command ''", "--command: names no program"),
        (
            "--command 'x {lsten}'",
            "--command: unknown placeholder `{lsten}`",
        ),
        (
            "--command 'x {listen}' --name 'a b'",
            "--name: `a b` can't name a plan",
        ),
        (
            "--command 'x {listen}' --rate fast",
            "--rate: `fast` is not a rate",
        ),
        (
            "--command 'x {listen}' --url http://10.0.0.1/",
            "--url: `10.0.0.1` is not this machine",
        ),
        (
            "--command 'x {listen}' --connections 0",
            "--connections: `connections` must lie",
        ),
        (
            "--command 'x {listen}' --env A=1 --env A=2",
            "--env: the key `A` is given twice",
        ),
        ("--command 'x {listen}' --sweep s=1.0,0.1", "--sweep: "),
        ("--command 'x {listen}' --sweep port=1", "--sweep: "),
        (
            "--command 'x {listen}' --cpus 1,1",
            "--cpus: core 1 is listed twice",
        ),
        ("--attach 4711", "--attach: where does process 4711 listen?"),
        (
            "--attach http://127.0.0.1:1/a",
            "--attach: `http://127.0.0.1:1/a` is not a URL",
        ),
    ];
    for (line, expected) in table {
        let found = errors(line);
        assert!(found.starts_with(expected), "{line}: {found}");
    }
}

#[test]
fn service_and_generator_get_different_cores() {
    let table = [
        ("", 1, vec![], vec![], "one core is shared"),
        ("", 2, vec![0], vec![1], "the default"),
        ("", 64, vec![0], vec![1], "more cores change nothing"),
        (
            "--cpus 1",
            2,
            vec![1],
            vec![0],
            "the generator takes the other core",
        ),
        ("--load-cpus 0", 2, vec![1], vec![0], "so does the service"),
        ("--cpus 0,1", 2, vec![0, 1], vec![], "no core is left"),
    ];
    for (line, cores, service, load, why) in table {
        let line = format!("--command 'x {{listen}}' {line}");
        let draft = checked(&flags(&line), cores).unwrap_or_else(|e| panic!("{why}: {e:?}"));
        let plan = Plan::parse(&draft.text, "plan.toml", Path::new("/")).unwrap();
        let cores = |cpus: &Option<Vec<u32>>| cpus.clone().unwrap_or_default();
        assert_eq!(cores(&plan.services[0].cpus), service, "{why}");
        assert_eq!(cores(&plan.load.cpus), load, "{why}");
    }
}

#[test]
fn a_command_without_an_address_gets_a_port() {
    let plan = plan("--command '/usr/bin/my-app --fast'");
    assert_eq!(plan.name, "my-app");
    let port = plan.services[0].env["PORT"].template();
    assert_eq!(port.map(|port| port.as_str()), Some("{port}"));
    assert!(plan.services[0].addressed);
}

#[test]
fn an_existing_file_is_kept_without_force() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("plan.toml");
    write(&path, "first", false).unwrap();
    let refused = write(&path, "second", false).unwrap_err();
    assert!(refused.to_string().contains("--force"), "{refused}");
    assert_eq!(refused.exit(), Exit::Usage);
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "first");
    write(&path, "2nd", true).unwrap();
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "2nd");
    let nowhere = write(&dir.path().join("no/plan.toml"), "", false).unwrap_err();
    assert_eq!(nowhere.exit(), Exit::CouldNotMeasure);
}

/// The plan of a service whose arms differ in a configuration file, made in an empty folder.
fn with_file(dir: &Path, line: &str) -> Exit {
    std::fs::write(dir.join("nginx.conf"), "http { log '${host} {status}'; }\n").unwrap();
    let dir = dir.display();
    let mut flags = flags(&format!("{line} --file {dir}/nginx.conf {dir}/plan.toml"));
    flags.cpus = vec![0];
    flags.load_cpus = vec![1];
    init(&flags)
}

#[test]
fn arms_that_differ_in_a_configuration_file_have_a_template() {
    let dir = tempfile::tempdir().unwrap();
    let command = "--command 'nginx -c {dir}/nginx.conf -p {dir}'";
    let exit = with_file(dir.path(), command);
    assert_eq!(exit, Exit::Success);
    let read = |name: &str| std::fs::read_to_string(dir.path().join(name)).unwrap();
    let template = read("nginx.conf.template");
    let (head, text) = template.split_once('\n').unwrap();
    assert!(head.starts_with("# {listen}") && head.contains("{setting}"));
    assert_eq!(
        text, "http { log '${{host}} {{status}}'; }\n",
        "rendered as it was"
    );
    let plan = Plan::load(&dir.path().join("plan.toml"), windage_plan::Depth::Usual).unwrap();
    let ids: Vec<&str> = plan.arms.iter().map(|arm| arm.id.as_str()).collect();
    assert_eq!(ids, ["off-setting-off", "control", "telemetry-setting-on"]);
    insta::assert_snapshot!(read("plan.toml"));
    let again = with_file(dir.path(), command);
    assert_eq!(again, Exit::Usage, "nothing is overwritten");
    let forced = with_file(dir.path(), &format!("{command} --force"));
    assert_eq!(forced, Exit::Success);
}

#[test]
fn a_template_without_a_plan_is_not_left_behind() {
    for (line, why) in [
        ("--command 'nginx -p {dir}'", "the file is not used"),
        (
            "--command 'nginx -c {dir}/nginx.conf' --rate fast",
            "the plan is wrong",
        ),
    ] {
        let dir = tempfile::tempdir().unwrap();
        let template = dir.path().join("nginx.conf.template");
        let exit = with_file(dir.path(), line);
        assert_eq!(exit, Exit::Usage, "{why}");
        assert!(!template.exists(), "{why}");
        std::fs::write(&template, "edited").unwrap();
        with_file(dir.path(), &format!("{line} --force"));
        assert_eq!(
            std::fs::read_to_string(template).unwrap(),
            "edited",
            "{why}"
        );
        assert!(!dir.path().join("plan.toml").exists(), "{why}");
    }
}
