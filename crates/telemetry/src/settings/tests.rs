//! The effect of each variable, and the message for an invalid one.

use super::*;

const ENDPOINT: (&str, &str) = ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://collector:4318");

fn read(variables: &[(&str, &str)]) -> Configuration {
    let found =
        |name: &str| variables.iter().find(|(known, _)| *known == name).map(|(_, value)| value.to_string());
    Settings::read(found)
}

/// The settings of these variables beside an endpoint, without a warning.
fn settings(variables: &[(&str, &str)]) -> Settings {
    let configured = read(&[&[ENDPOINT], variables].concat());
    assert_eq!(configured.warnings, Vec::<String>::new());
    configured.settings.unwrap()
}

/// The one warning that these variables beside an endpoint lead to, and the settings all the same.
fn warned(variables: &[(&str, &str)]) -> (String, Settings) {
    let configured = read(&[&[ENDPOINT], variables].concat());
    let [warning] = configured.warnings.try_into().unwrap();
    (warning, configured.settings.unwrap())
}

#[test]
fn without_an_endpoint_nothing_is_exported_and_nothing_logged() {
    for variables in [
        &[][..],
        &[("OTEL_EXPORTER_OTLP_ENDPOINT", "")],
        &[("OTEL_TRACES_EXPORTER", "otlp"), ("OTEL_SERVICE_NAME", "x")],
        &[ENDPOINT, ("OTEL_SDK_DISABLED", "True")],
        &[ENDPOINT, ("OTEL_TRACES_EXPORTER", "none")],
    ] {
        let configured = read(variables);
        assert_eq!((configured.settings, configured.warnings.len()), (None, 0), "{variables:?}");
    }
}

#[test]
fn an_endpoint_alone_is_enough() {
    let settings = settings(&[]);
    assert_eq!(settings.endpoint, "http://collector:4318/v1/traces");
    assert_eq!((settings.queue_spans_max, settings.batch_spans_max), (2_048, 512));
    assert_eq!(settings.timeout, Duration::from_secs(10));
    assert_eq!(
        (settings.schedule_delay, settings.export_timeout),
        (Duration::from_secs(5), Duration::from_secs(30))
    );
    let version = env!("CARGO_PKG_VERSION").to_owned();
    let resource =
        [("service.name".to_owned(), "plenary".to_owned()), ("service.version".to_owned(), version)];
    assert_eq!(settings.resource, resource);
}

#[test]
fn the_endpoint_of_traces_is_unchanged_and_the_general_one_gets_a_path() {
    let at = |name: &str, url: &str| read(&[(name, url)]).settings.unwrap().endpoint.to_string();
    for (url, expected) in [
        ("http://c:1/", "http://c:1/v1/traces"),
        ("https://c/otlp", "https://c/otlp/v1/traces"),
        ("https://c/otlp/?key=1", "https://c/otlp/v1/traces?key=1"),
        ("http://[::1]:4318", "http://[::1]:4318/v1/traces"),
    ] {
        assert_eq!(at("OTEL_EXPORTER_OTLP_ENDPOINT", url), expected);
    }
    assert_eq!(at("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "http://c:1/in"), "http://c:1/in");
    assert_eq!(at("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "http://c:1"), "http://c:1/");
    let both = settings(&[("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "http://other:1/in")]);
    assert_eq!(both.endpoint, "http://other:1/in");
}

#[test]
fn an_invalid_endpoint_is_reported_and_nothing_is_sent_elsewhere() {
    for url in ["collector:4318", "ftp://c", "http://", "not a url", "/v1/traces"] {
        for name in ["OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT"] {
            let configured = read(&[(name, url)]);
            assert_eq!(configured.settings, None, "{url}");
            assert!(configured.warnings[0].contains(name), "{:?}", configured.warnings);
        }
    }
}

#[test]
fn a_log_line_about_the_destination_has_no_secret() {
    let secret = [("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "https://me:hidden@c:1/in?key=hidden")];
    let settings = settings(&[secret[0], ("OTEL_EXPORTER_OTLP_HEADERS", "authorization=hidden")]);
    assert_eq!(settings.destination(), "https://c:1/in");
    assert!(!format!("{settings:?}").contains("hidden"));
}

#[test]
fn headers_are_decoded_and_malformed_ones_are_skipped_without_a_log_line() {
    let header = |list: &str| settings(&[("OTEL_EXPORTER_OTLP_HEADERS", list)]).headers;
    let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    assert_eq!(
        header("authorization=Bearer%20x=, X-Two = 2 ,"),
        [pair("authorization", "Bearer x="), pair("X-Two", "2")]
    );
    assert_eq!(header("authorization=Bearer x"), [pair("authorization", "Bearer x")]);
    for list in ["a=1,hidden", "a=1,hid den=2", "a=1,hidden=%0A", "a=1,hidden=%ff"] {
        let (warning, settings) = warned(&[("OTEL_EXPORTER_OTLP_TRACES_HEADERS", list)]);
        assert_eq!(settings.headers, [pair("a", "1")], "{list}");
        assert!(warning.contains("entry 2") && !warning.contains("hid"), "{warning}");
    }
}

#[test]
fn the_resource_has_a_service_name_from_every_source() {
    let resource = |variables: &[(&str, &str)]| {
        let mut pairs = settings(variables).resource;
        pairs.retain(|(key, _)| key != "service.version");
        pairs.iter().map(|(key, value)| format!("{key}={value}")).collect::<Vec<_>>().join(" ")
    };
    let list = ("OTEL_RESOURCE_ATTRIBUTES", "openinference.project.name=a%20b,service.name=listed");
    assert_eq!(resource(&[list]), "openinference.project.name=a b service.name=listed");
    assert_eq!(
        resource(&[list, ("OTEL_SERVICE_NAME", "named")]),
        "openinference.project.name=a b service.name=named"
    );
    let (warning, settings) = warned(&[("OTEL_RESOURCE_ATTRIBUTES", "a=1,b")]);
    assert!(warning.contains("OTEL_RESOURCE_ATTRIBUTES"), "{warning}");
    assert!(settings.resource.iter().all(|(key, _)| key.starts_with("service.")));
}

#[test]
fn numbers_are_bounded_and_nonsense_is_the_default() {
    let set = settings(&[
        ("OTEL_EXPORTER_OTLP_TIMEOUT", "250"),
        ("OTEL_BSP_MAX_QUEUE_SIZE", "10"),
        ("OTEL_BSP_SCHEDULE_DELAY", "5"),
        ("OTEL_BSP_EXPORT_TIMEOUT", "7"),
        ("OTEL_SPAN_ATTRIBUTE_VALUE_LENGTH_LIMIT", "3"),
    ]);
    assert_eq!(
        (set.timeout.as_millis(), set.schedule_delay.as_millis(), set.export_timeout.as_millis()),
        (250, 5, 7)
    );
    assert_eq!((set.queue_spans_max, set.batch_spans_max, set.text_chars_max), (10, 10, Some(3)));
    let (_, queue) = warned(&[("OTEL_BSP_MAX_QUEUE_SIZE", "999999999999")]);
    assert_eq!(queue.queue_spans_max, QUEUE_SPANS_MAX);
    let (_, batch) = warned(&[("OTEL_BSP_MAX_EXPORT_BATCH_SIZE", "4096")]);
    assert_eq!(batch.batch_spans_max, 2_048, "no more than wait");
    for name in [
        "OTEL_EXPORTER_OTLP_TRACES_TIMEOUT",
        "OTEL_BSP_SCHEDULE_DELAY",
        "OTEL_BSP_EXPORT_TIMEOUT",
        "OTEL_BSP_MAX_QUEUE_SIZE",
        "OTEL_BSP_MAX_EXPORT_BATCH_SIZE",
    ] {
        for text in ["0", "-1", "soon", "1.5"] {
            let (warning, set) = warned(&[(name, text)]);
            assert!(warning.starts_with(name), "{warning}");
            assert_eq!(set, settings(&[]), "{name}={text}");
        }
    }
}

#[test]
fn samplers_have_the_names_of_the_specification() {
    for (name, argument, parent_based, ratio) in [
        ("always_on", None, false, 1.0),
        ("always_off", None, false, 0.0),
        ("traceidratio", Some("0.25"), false, 0.25),
        ("parentbased_always_on", None, true, 1.0),
        ("parentbased_always_off", None, true, 0.0),
        ("parentbased_traceidratio", Some("0.5"), true, 0.5),
        ("parentbased_traceidratio", None, true, 1.0),
    ] {
        let mut variables = vec![("OTEL_TRACES_SAMPLER", name)];
        variables.extend(argument.map(|argument| ("OTEL_TRACES_SAMPLER_ARG", argument)));
        assert_eq!(settings(&variables).sampling, SamplingRule { parent_based, ratio }, "{name}");
    }
    assert_eq!(warned(&[("OTEL_TRACES_SAMPLER", "jaeger_remote")]).1.sampling, SamplingRule::default());
    let nonsense = [("OTEL_TRACES_SAMPLER", "traceidratio"), ("OTEL_TRACES_SAMPLER_ARG", "2")];
    assert!(warned(&nonsense).0.contains("OTEL_TRACES_SAMPLER_ARG"));
}

#[test]
fn unsupported_settings_are_reported() {
    for (name, value) in [
        ("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc"),
        ("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "http/json"),
        ("OTEL_EXPORTER_OTLP_COMPRESSION", "gzip"),
        ("OTEL_EXPORTER_OTLP_CLIENT_KEY", "key.pem"),
        ("OTEL_SDK_DISABLED", "yes"),
        ("OTEL_TRACES_EXPORTER", "otlp,console"),
        ("OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT", "long"),
    ] {
        let (warning, all_the_same) = warned(&[(name, value)]);
        assert!(warning.starts_with(name), "{warning}");
        assert_eq!(all_the_same, settings(&[]), "{name}");
    }
    settings(&[("OTEL_EXPORTER_OTLP_PROTOCOL", "http/protobuf"), ("OTEL_EXPORTER_OTLP_COMPRESSION", "none")]);
}
