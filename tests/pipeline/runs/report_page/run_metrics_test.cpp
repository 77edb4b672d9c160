#include "pipeline/runs/report_page/run_metrics.h"

#include <doctest/doctest.h>

#include <fstream>

#include "tests/support/temp_folder.h"

namespace flowtrain::run_metrics_test {

TEST_CASE("run metrics: kinds, extremes, texts, events, and falls of the learning rate") {
  RunMetrics metrics;
  metrics.add(R"({"kind":"train","iter":10,"loss":2,"lr":0.1,"limit":"sample"})");
  metrics.add(R"({"kind":"train","iter":20,"loss":null,"lr":0.09,"limit":"read"})");
  metrics.add(R"({"kind":"train","iter":30,"loss":1,"lr":0.009,"limit":"sample"})");
  metrics.add(R"({"kind":"val","iter":20,"loss":0.7,"accuracy":0.5})");
  metrics.add(R"({"kind":"val","iter":30,"loss":0.4,"accuracy":0.4})");
  metrics.add(R"({"kind":"epoch","iter":26,"epoch":2,"loss":1.5})");
  metrics.add(R"({"kind":"resume","iter":20})");
  metrics.add(R"({"kind":"model","iter":20})");  // nothing that a page draws
  metrics.add(
      R"({"kind":"verdict","iter":30,"text":"sample limits","gain":[{"change":"one more worker","speedup":1.2}]})");
  metrics.add(R"({"kind":"end","iter":30,"params_xxh64":"00ff"})");
  CHECK(metrics.train.json()["iter"].size() == 3);
  CHECK(metrics.last_iteration == 30);
  CHECK(metrics.per_epoch == 13);
  CHECK(metrics.extremes["loss"].least == 0.4);
  CHECK(metrics.extremes["loss"].least_at == 30);
  CHECK(metrics.extremes["accuracy"].greatest_at == 20);
  CHECK(metrics.texts["limit"] == "sample");
  REQUIRE(metrics.events["lr"].kept.size() == 1);
  CHECK(metrics.events["lr"].kept[0]["iter"] == 30);
  CHECK(metrics.events["resume"].seen == 1);
  CHECK(!metrics.events.contains("model"));
  CHECK(metrics.verdict["gain"][0]["speedup"] == 1.2);
  CHECK(metrics.end["params_xxh64"] == "00ff");
}

TEST_CASE("run metrics: what is no line of metrics is left out") {
  TempFolder folder;
  std::ofstream(folder.path() / "metrics.jsonl")
      << "{\"kind\":\"train\",\"iter\":1,\"loss\":1}\n\n[1]\nno json\n{\"kind\":5,\"iter\":2}\n{\"iter\":3}\n"
      << "{\"kind\":\"train\",\"iter\":-4}\n{\"kind\":\"train\",\"iter\":1e300}\n"
      << std::string(100, '[') << "\n"
      << "{\"kind\":\"train\",\"iter\":{\"iter\":7}}\n{\"kind\":\"train\",\"iter\":2,\"lo";
  const auto metrics = run_metrics_of(folder.path() / "metrics.jsonl");
  CHECK(metrics.train.json()["iter"].size() == 1);
  CHECK(metrics.last_iteration == 1);
  CHECK(run_metrics_of(folder.path() / "absent").train.json()["iter"].empty());
}

TEST_CASE("thinned: bounded, evenly spread, with the first one") {
  Thinned list;
  for (int i = 0; i < 10'000; ++i) list.add(i);
  CHECK(list.seen == 10'000);
  CHECK(list.kept.size() <= Thinned::most);
  CHECK(list.kept.size() >= Thinned::most / 2);
  CHECK(list.kept[0] == 0);
  CHECK(list.kept[1] == list.every);
  CHECK(list.kept.back() == (list.kept.size() - 1) * list.every);
}

}  // namespace flowtrain::run_metrics_test
