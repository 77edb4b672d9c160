// display.prometheus: a run's metrics over HTTP.

#include <doctest/doctest.h>
#include <signal.h>

#include "tests/support/python.h"
#include "tests/support/skip.h"
#include "tests/support/temp_run.h"

namespace flowtrain::prometheus_test {
namespace {

using nlohmann::json;

// The address that a run has logged.
std::string url_of(const std::filesystem::path& run) {
  const std::string log = read_text(run / "train.log");
  const auto begin = log.find("http://127.0.0.1:");
  return log.substr(begin, log.find("/metrics", begin) + std::string("/metrics").size() - begin);
}

}  // namespace

TEST_CASE("Prometheus' own parser reads a run's metrics while it trains") {
  SKIP_UNLESS(test::python_has("prometheus_client"), "python-prometheus_client",
              "this python3 cannot import prometheus_client; FLOWTRAIN_TEST_PYTHONPATH may name a folder");
  const TempRun place;
  Process run({"tiny.toml", "--run-dir", "run", "--max-iter", "100000000", "--set", "display.prometheus=127.0.0.1:0",
               "--set", "snapshot.every=0"},
              place.process_options());
  REQUIRE(run.wait_for_text("\"kind\":\"val\"", place.path("run/metrics.jsonl")));
  const std::string url = url_of(place.path("run"));
  const std::string command = test::python_command("tests/program/read_prometheus.py ") + url;
  const json page = json::parse(test::output_of(command));
  const json labels{{"run", "run"}, {"rank", "0"}};
  const auto& iterations = page.at("flowtrain_iterations");  // the parser takes _total off a counter's name
  CHECK(iterations.at("type") == "counter");
  CHECK(iterations.at("samples").at(0).at(0) == "flowtrain_iterations_total");
  CHECK(iterations.at("samples").at(0).at(1) == labels);
  CHECK(iterations.at("samples").at(0).at(2) >= 20);
  for (auto name : {"flowtrain_loss", "flowtrain_samples_per_second", "flowtrain_host_memory_bytes",
                    "flowtrain_step_median_seconds"}) {
    CAPTURE(name);
    CHECK(page.at(name).at("type") == "gauge");
    CHECK_FALSE(page.at(name).at("help").get<std::string>().empty());
    CHECK(page.at(name).at("samples").at(0).at(1) == labels);
    CHECK(page.at(name).at("samples").at(0).at(2) > 0);
  }
  CHECK(page.contains("flowtrain_phase_seconds"));
  CHECK(page.at("flowtrain_validation").at("samples").size() >= 2);
  run.send(SIGINT);
  CHECK_EXIT(run.wait(), 130);
  CHECK_THROWS(test::output_of(command + " 2>/dev/null"));  // it has ended with the run
}

TEST_CASE("an address that is none is refused, and one that is taken costs a warning") {
  const TempRun place;
  for (const std::string bad :
       {"nonsense", "localhost:", ":9400", "localhost:99999", "a b:1", "::1:9400", "http://x:1"}) {
    CAPTURE(bad);
    const auto refused = place.train({"--set", "display.prometheus=\"" + bad + "\""});
    CHECK_EXIT(refused, 2);
    CHECK_SAYS(refused, "display.prometheus");
    CHECK_SAYS(refused, "expected PORT or HOST:PORT");
  }
  Process first({"tiny.toml", "--run-dir", "first", "--max-iter", "100000000", "--set", "display.prometheus=0"},
                place.process_options());
  REQUIRE(first.wait_for_text("/metrics", place.path("first/train.log")));
  const std::string url = url_of(place.path("first"));
  const std::string address = url.substr(7, url.rfind('/') - 7);
  const auto second = place.train({"--run-dir", "second", "--set", "display.prometheus=" + address});
  REQUIRE_EXIT(second, 0);
  CHECK(times_in(second.err, "display.prometheus: cannot listen at " + address) == 1);
  CHECK_SAYS(second, "choose another one, or port 0");
}

}  // namespace flowtrain::prometheus_test
