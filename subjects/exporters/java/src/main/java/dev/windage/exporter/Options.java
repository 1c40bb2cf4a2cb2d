package dev.windage.exporter;

import java.util.HashMap;
import java.util.Map;

/** The options of the command line. */
record Options(
    String signal,
    String protocol,
    String compression,
    String endpoint,
    int count,
    int events,
    int links,
    int attributes) {

  static Options parse(String[] args) {
    Map<String, String> values = new HashMap<>();
    for (int i = 0; i + 1 < args.length; i += 2) {
      values.put(args[i], args[i + 1]);
    }
    return new Options(
        required(values, "--signal"),
        required(values, "--protocol"),
        values.getOrDefault("--compression", "none"),
        required(values, "--endpoint"),
        Integer.parseInt(required(values, "--count")),
        Integer.parseInt(values.getOrDefault("--events", "0")),
        Integer.parseInt(values.getOrDefault("--links", "0")),
        Integer.parseInt(values.getOrDefault("--attributes", "0")));
  }

  /** The endpoint of a signal over HTTP; each signal has its own path. */
  String url() {
    return endpoint + "/v1/" + signal;
  }

  /** Whether to export over gRPC instead of HTTP. */
  boolean grpc() {
    return switch (protocol) {
      case "grpc" -> true;
      case "http" -> false;
      default -> throw new IllegalArgumentException("--protocol " + protocol + ": neither http nor grpc");
    };
  }

  private static String required(Map<String, String> values, String flag) {
    String value = values.get(flag);
    if (value == null) {
      throw new IllegalArgumentException(flag + " is missing");
    }
    return value;
  }
}
