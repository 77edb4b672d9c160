// The endpoint for Prometheus: its text by the rules of the format, and its answers to good and bad requests.

#include "pipeline/engine/prometheus/endpoint.h"

#include <arpa/inet.h>
#include <doctest/doctest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmath>
#include <regex>
#include <set>
#include <sstream>

#include "pipeline/base/telemetry/log.h"

namespace flowtrain::prometheus_test {

namespace {

// The samples of a page, by what stands before the value. Checks each line, and that a metric's lines stand together
// behind its help and type.
std::map<std::string, std::string> samples_of(const std::string& page) {
  const std::regex help(R"(# HELP ([a-z_0-9]+) .+)"), type(R"(# TYPE ([a-z_0-9]+) (gauge|counter))");
  const std::regex sample(
      R"(([a-z_0-9]+)\{([a-z]+="([^"\\]|\\[\\"n])*"(,[a-z]+="([^"\\]|\\[\\"n])*")*)\} (NaN|[+-]Inf|[-+.e0-9]+))");
  std::map<std::string, std::string> samples;
  std::set<std::string> known;
  std::string helped, typed;
  std::istringstream lines(page);
  for (std::string line; std::getline(lines, line);) {
    CAPTURE(line);
    std::smatch parts;
    if (std::regex_match(line, parts, help)) {
      helped = parts[1];
      CHECK(known.insert(helped).second);
    } else if (std::regex_match(line, parts, type)) {
      typed = parts[1];
      CHECK(typed == helped);
    } else {
      REQUIRE(std::regex_match(line, parts, sample));
      CHECK(parts[1] == typed);
      const std::string key = line.substr(0, line.rfind(' '));
      CHECK(samples.emplace(key, line.substr(line.rfind(' ') + 1)).second);
    }
  }
  CHECK(page.ends_with('\n'));
  return samples;
}

std::string answer_to(int port, const std::string& request) {
  const int handle = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  std::string answer;
  if (::connect(handle, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0 &&
      ::send(handle, request.data(), request.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(request.size())) {
    char block[4096];
    for (ssize_t got = 0; (got = ::recv(handle, block, sizeof block, 0)) > 0;)
      answer.append(block, static_cast<std::size_t>(got));
  }
  ::close(handle);
  return answer;
}

std::string get(int port, const std::string& path, const std::string& method = "GET") {
  return answer_to(port, method + " " + path + " HTTP/1.1\r\nHost: localhost\r\n\r\n");
}

int status_of(const std::string& answer) {
  return answer.starts_with("HTTP/1.1 ") ? std::stoi(answer.substr(9, 3)) : 0;
}

}  // namespace

TEST_CASE("prometheus: a page has each metric once, in base units, whatever names a net logs") {
  ExposedMetrics metrics{.run = "a \"run\"\\\n", .rank = 0, .iterations = 40, .line = {}, .validation = {}};
  metrics.line = {{"iter", 40},         {"loss", 0.25},         {"lr", 1e-5},          {"samples_per_s", 1e6},
                  {"grad_norm", NAN},   {"time.forward", 0.01}, {"loss.a", 1},         {"time.backward", 0.02},
                  {"loss_a", INFINITY}, {"host_memory_mb", 2},  {"limit", "transfer"}, {"odd \"name\"", 3}};
  metrics.validation = {{"accuracy", 0.5}, {"night.accuracy", 0.25}};
  auto samples = samples_of(exposition(metrics));
  const std::string run = R"({run="a \"run\"\\\n",rank="0")";
  CHECK(std::stod(samples["flowtrain_iterations_total" + run + "}"]) == 40);
  CHECK(std::stod(samples["flowtrain_iterations_total" + run + "}"]) == 40);
  CHECK(std::stod(samples["flowtrain_loss" + run + "}"]) == 0.25);
  CHECK(std::stod(samples["flowtrain_learning_rate" + run + "}"]) == 1e-5);
  CHECK(samples["flowtrain_gradient_norm" + run + "}"] == "NaN");
  CHECK(std::stod(samples["flowtrain_host_memory_bytes" + run + "}"]) == 2 * 1024 * 1024);
  CHECK(std::stod(samples["flowtrain_phase_seconds" + run + R"(,phase="forward"})"]) == 0.01);
  CHECK(std::stod(samples["flowtrain_phase_seconds" + run + R"(,phase="backward"})"]) == 0.02);
  CHECK(std::stod(samples["flowtrain_logged" + run + R"(,name="loss.a"})"]) == 1);
  CHECK(samples["flowtrain_logged" + run + R"(,name="loss_a"})"] == "+Inf");
  CHECK(std::stod(samples["flowtrain_logged" + run + R"(,name="odd \"name\""})"]) == 3);
  CHECK(std::stod(samples["flowtrain_validation" + run + R"(,metric="night.accuracy"})"]) == 0.25);
  CHECK(samples.size() == 13);
}

TEST_CASE("prometheus: the endpoint tells the newest line until the run ends, and refuses what it does not serve") {
  set_console_level(ConsoleLevel::quiet);
  PrometheusEndpoint endpoint(ListenAddress{"127.0.0.1", 0}, "run");
  const int port = endpoint.port();
  REQUIRE(port > 0);
  const auto page = [&] {
    const std::string answer = get(port, "/metrics");
    CHECK(status_of(answer) == 200);
    CHECK(answer.find("Content-Type: text/plain; version=0.0.4; charset=utf-8") != answer.npos);
    return samples_of(answer.substr(answer.find("\r\n\r\n") + 4));
  };
  CHECK(page().size() == 1);
  endpoint.step({.iteration = 20, .loss = 0.5, .report = true}, {{"own", 7}});
  endpoint.step({.iteration = 21}, {});
  endpoint.validation({.iteration = 20, .scalars = {{"accuracy", 0.75}}});
  auto samples = page();
  CHECK(std::stod(samples[R"(flowtrain_iterations_total{run="run",rank="0"})"]) == 21);
  CHECK(std::stod(samples[R"(flowtrain_loss{run="run",rank="0"})"]) == 0.5);
  CHECK(std::stod(samples[R"(flowtrain_logged{run="run",rank="0",name="own"})"]) == 7);
  CHECK(std::stod(samples[R"(flowtrain_validation{run="run",rank="0",metric="accuracy"})"]) == 0.75);

  CHECK(status_of(get(port, "/")) == 404);
  CHECK(status_of(get(port, "/metrics/../../etc/passwd")) == 404);
  for (auto method : {"POST", "PUT", "DELETE", "OPTIONS", "PATCH"}) {
    CAPTURE(method);
    CHECK(status_of(get(port, "/metrics", method)) == 405);
  }
  CHECK(status_of(answer_to(port, "POST /metrics HTTP/1.1\r\nContent-Length: 5\r\n\r\nhello")) == 405);
  CHECK(status_of(answer_to(port, "nonsense\r\n\r\n")) == 400);
  CHECK(status_of(get(port, "/" + std::string(20000, 'x'))) == 414);
  CHECK(status_of(get(port, "/metrics", "HEAD")) == 200);
  CHECK(page().size() > 1);  // it goes on

  endpoint.finish();
  CHECK(get(port, "/metrics").empty());
}

TEST_CASE("prometheus: a port that another program has is a warning") {
  set_console_level(ConsoleLevel::quiet);
  PrometheusEndpoint first(ListenAddress{"127.0.0.1", 0}, "run");
  PrometheusEndpoint second(ListenAddress{"127.0.0.1", first.port()}, "run");
  CHECK(second.port() == 0);
  second.step({.iteration = 1, .report = true}, {});
  second.validation({});
  PrometheusEndpoint nobody(std::nullopt, "run");
  CHECK(nobody.port() == 0);
}

}  // namespace flowtrain::prometheus_test
