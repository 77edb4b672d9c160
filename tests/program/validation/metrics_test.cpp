// The metrics of validations, those of each class, and the counts of confused classes.

#include <doctest/doctest.h>

#include <sstream>

#include "tests/program/idx_files.h"
#include "tests/program/language_model.h"
#include "tests/program/ranks.h"

namespace flowtrain::metrics_test {
namespace {

using nlohmann::json;

const std::string all =
    "accuracy_per_class, accuracy, top1, top3, perplexity, precision, recall, f1, f1_micro, f1_weighted, "
    "balanced_accuracy, mean_iou, pixel_accuracy, confusion";

/// --set val.metrics with these names, parted by commas.
Words metrics(const std::string& names) {
  std::string list = "val.metrics=[\"";
  for (const char c : names)
    if (c == ',')
      list += "\", \"";
    else if (c != ' ')
      list += c;
  return {"--set", list + "\"]"};
}

/// Cells of a table without quotes.
std::vector<std::vector<std::string>> cells_of(const std::filesystem::path& path) {
  std::vector<std::vector<std::string>> rows;
  std::istringstream lines(read_text(path));
  for (std::string line, cell; std::getline(lines, line);) {
    std::istringstream cells(line);
    rows.emplace_back();
    while (std::getline(cells, cell, ',')) rows.back().push_back(cell);
  }
  return rows;
}

void check_equal(const json& a, const json& b) {
  REQUIRE(a.size() == b.size());
  for (auto& [key, value] : a.items()) {
    CAPTURE(key);
    // The logits of a batch that is cut otherwise may round otherwise; counts do not.
    const bool rounds = key == "loss" || key == "perplexity";
    if (rounds)
      CHECK(value.get<double>() == doctest::Approx(b.at(key).get<double>()).epsilon(1e-6));
    else
      CHECK(value == b.at(key));
  }
}

}  // namespace

TEST_CASE("a validation by all metrics of classifiers, and the test of its snapshot") {
  const TempRun place;
  const auto trained = place.train(with({"--run-dir", "run"}, metrics(all)));
  REQUIRE_EXIT(trained, 0);
  CHECK(trained.err.find("accuracy.circle") == std::string::npos);  // single classes are in metrics.jsonl alone
  const auto lines = metrics_of(place.path("run"), "val");
  REQUIRE(lines.size() == 3);
  auto line = lines.back();
  CAPTURE(line);
  const double accuracy_of_all = line.at("accuracy");
  for (const char* same : {"top1", "f1_micro", "pixel_accuracy"})
    CHECK(line.at(same).get<double>() == doctest::Approx(accuracy_of_all));
  CHECK(line.at("top3") >= line.at("accuracy"));
  CHECK(line.at("perplexity").get<double>() == doctest::Approx(std::exp(line.at("loss").get<double>())).epsilon(1e-5));
  CHECK_FALSE(line.contains("confusion"));
  CHECK_FALSE(line.contains("accuracy_per_class"));

  const auto table = cells_of(place.path("run") / "confusion.csv");
  REQUIRE(table.size() == 7);
  CHECK(table[0] == std::vector<std::string>{"label", "circle", "square", "triangle", "cross", "ring", "star"});
  double samples = 0, right = 0, recalls = 0, classes = 0;
  for (std::size_t c = 1; c < 7; ++c) {
    REQUIRE(table[c].size() == 7);
    CHECK(table[c][0] == table[0][c]);
    double of_class = 0;
    for (std::size_t i = 1; i < 7; ++i) of_class += std::stod(table[c][i]);
    samples += of_class;
    right += std::stod(table[c][c]);
    const auto& accuracy = line.at("accuracy." + table[c][0]);
    CHECK(accuracy.is_null() == (of_class == 0));
    if (of_class == 0) continue;
    CHECK(accuracy.get<double>() == doctest::Approx(std::stod(table[c][c]) / of_class));
    recalls += accuracy.get<double>();
    ++classes;
  }
  CHECK(samples == 40);
  CHECK(right / samples == doctest::Approx(accuracy_of_all));
  CHECK(recalls / classes == doctest::Approx(line.at("balanced_accuracy").get<double>()));

  const auto tested = place.run({"test", "run", "--iter", "60"});
  REQUIRE_EXIT(tested, 0);
  auto scalars = json::parse(tested.out);
  for (const char* key : {"kind", "snapshot", "iter"}) {
    scalars.erase(key);
    line.erase(key);
  }
  check_equal(scalars, line);
  CHECK_SAYS(tested, "a row for each label");
  CHECK_SAYS(tested, "5 star");
  CHECK_SAYS(tested, "accuracy  class");
  CHECK(read_text(place.path("run") / "test/iter-00000060/confusion.csv") ==
        read_text(place.path("run") / "confusion.csv"));

  // The first of them that is one metric decides.
  CHECK(json::parse(read_text(place.path("run") / "result.json")).at("best").at("metric") == "accuracy");
}

TEST_CASE("an epoch's line has the means of its iterations, also of one that was resumed amid it") {
  const TempRun place;
  const Words every{"--set", "display.every=1", "--set", "snapshot.every=7"};
  REQUIRE_EXIT(place.train(with(every, {"--run-dir", "whole"})), 0);
  const auto epochs = metrics_of(place.path("whole"), "epoch");
  REQUIRE(epochs.size() > 1);
  const auto length = epochs[0].at("iter").get<std::uint64_t>();
  for (std::size_t i = 0; i < epochs.size(); ++i) {
    const auto& line = epochs[i];
    CHECK(line.at("epoch") == i + 1);
    CHECK(line.at("iter") == (i + 1) * length);
    for (const std::string key : {"loss", "grad_norm"}) {
      double sum = 0;
      for (auto& step : metrics_of(place.path("whole"), "train"))
        if (step.at("epoch") == line.at("epoch")) sum += step.at(key).get<double>();
      CAPTURE(key);
      CHECK(line.at(key).get<double>() == doctest::Approx(sum / static_cast<double>(length)).epsilon(1e-12));
    }
    CHECK(line.at("samples_per_s").get<double>() > 0);
    CHECK(line.at("data_wait").get<double>() >= 0);
    CHECK_FALSE(line.contains("lr"));
  }

  // 7 divides no epoch's end.
  REQUIRE(length % 7 != 0);
  REQUIRE_EXIT(place.train(with(every, {"--run-dir", "parts", "--max-iter", std::to_string(length + 3), "--set",
                                        "snapshot.final=false"})),
               0);
  REQUIRE_EXIT(place.train(with(every, {"--run-dir", "parts", "--resume", "auto"})), 0);
  const auto again = metrics_of(place.path("parts"), "epoch");
  REQUIRE(again.size() == epochs.size());
  for (std::size_t i = 0; i < epochs.size(); ++i)
    for (const std::string key : {"iter", "epoch", "loss", "grad_norm"}) CHECK(again[i].at(key) == epochs[i].at(key));
}

TEST_CASE("a validation in half precision is near that in full, and training does not feel it") {
  const TempRun place;
  REQUIRE_EXIT(place.train({"--run-dir", "full"}), 0);
  REQUIRE_EXIT(place.train({"--run-dir", "half", "--set", "val.amp=bf16"}), 0);
  CHECK(end_of(place.path("half")) == end_of(place.path("full")));
  const auto full = metrics_of(place.path("full"), "val"), half = metrics_of(place.path("half"), "val");
  REQUIRE(half.size() == full.size());
  bool differs = false;
  for (std::size_t i = 0; i < full.size(); ++i) {
    const double exact = full[i].at("loss").get<double>(), rounded = half[i].at("loss").get<double>();
    CHECK(rounded == doctest::Approx(exact).epsilon(0.02));
    differs |= rounded != exact;
  }
  CHECK(differs);
}

TEST_CASE("several processes measure what one does, also where some have no rows") {
  const TempRun place;
  // Weights stay as they were drawn.
  const Words still{"--set", "optim.lr=0.0", "--max-iter", "20", "--set", "val.batch=4"};
  for (const std::string samples : {"13", "1"}) {
    CAPTURE(samples);
    const Words asked = with(with(still, metrics(all)), {"--set", "data.val_samples=" + samples});
    REQUIRE_EXIT(train(place, 1, "one-" + samples, asked), 0);
    REQUIRE_EXIT(train(place, 2, "two-" + samples, asked), 0);
    const auto one = metrics_of(place.path("one-" + samples), "val"),
               two = metrics_of(place.path("two-" + samples), "val");
    REQUIRE(one.size() == 1);
    REQUIRE(two.size() == 1);
    check_equal(two[0], one[0]);
    CHECK(read_text(place.path("two-" + samples) / "confusion.csv") ==
          read_text(place.path("one-" + samples) / "confusion.csv"));
  }
}

TEST_CASE("perplexity and bits per byte of a text are the same in one, two and three processes") {
  const LanguageRun place;
  REQUIRE_EXIT(place.train({"--run-dir", "learnt"}), 0);
  const auto weights = place.path("weights.safetensors").string();
  REQUIRE_EXIT(place.run({"export", "learnt", "--out", weights, "--snapshot", "latest"}), 0);
  const Words still{"--set", "net.pretrain=" + weights, "--set", "optim.lr=0.0", "--max-iter", "20"};
  for (const int processes : {1, 2, 3})
    REQUIRE_EXIT(train(place, processes, "run" + std::to_string(processes), still), 0);
  const auto value = [&](const std::string& run, const std::string& metric) {
    return metrics_of(place.path(run), "val").back().at(metric).get<double>();
  };
  for (const std::string metric : {"perplexity", "bits_per_byte"}) {
    CAPTURE(metric);
    const double one = value("run1", metric);
    CHECK(one == doctest::Approx(value("learnt", metric)).epsilon(1e-9));
    for (const std::string run : {"run2", "run3"}) CHECK(value(run, metric) == doctest::Approx(one).epsilon(1e-9));
  }
  CHECK(std::log2(value("run1", "perplexity")) == doctest::Approx(value("run1", "bits_per_byte")).epsilon(1e-12));
}

TEST_CASE("of many classes a validation's line tells none, metrics.jsonl all") {
  const TempRun place(idx_config);
  std::string pixels, labels;
  for (unsigned i = 0; i < 64; ++i) {
    labels += static_cast<char>(i % 30);
    pixels.append(64, static_cast<char>(i * 3));
  }
  for (const std::string split : {"train", "t10k"}) {
    place.folder().write("idx/" + split + "-images-idx3-ubyte", idx_bytes(8, {64, 8, 8}, pixels));
    place.folder().write("idx/" + split + "-labels-idx1-ubyte", idx_bytes(8, {64}, labels));
  }
  const Words asked = metrics("accuracy_per_class,confusion,f1");
  const auto trained = place.train(with({"--run-dir", "run", "--set", "val.every=20"}, asked));
  REQUIRE_EXIT(trained, 0);
  CHECK(trained.err.find("accuracy.") == std::string::npos);
  CHECK(metrics_of(place.path("run"), "val").back().contains("accuracy.29"));
  const auto tested = place.run({"test", "run"});
  REQUIRE_EXIT(tested, 0);
  CHECK_SAYS(tested, "confusion.csv");
  CHECK(tested.err.find("a row for each label") == std::string::npos);
}

TEST_CASE("lower is better where it is") {
  const TempRun place;
  REQUIRE_EXIT(place.train(with({"--run-dir", "run", "--max-iter", "100"}, metrics("perplexity"))), 0);
  const auto best = json::parse(read_text(place.path("run") / "result.json")).at("best");
  CHECK(best.at("metric") == "perplexity");
  for (auto& line : metrics_of(place.path("run"), "val")) CHECK(best.at("value") <= line.at("perplexity"));

  // Its page says the same, also where the run has no result, as after a kill.
  const auto shape = json::parse(read_text(place.path("run") / "graph.json"));
  CHECK(shape.at("metrics") == json({{"loss", "min"}, {"perplexity", "min"}}));
  CHECK(shape.at("best").at("best") == json({{"metric", "perplexity"}, {"mode", "min"}}));
  for (const bool with_result : {true, false}) {
    if (!with_result) std::filesystem::remove(place.path("run") / "result.json");
    REQUIRE_EXIT(place.run({"report", "run/"}), 0);
    const auto page = read_text(place.path("run") / "report.html");
    const std::string begin = "id=\"data\">";
    const auto from = page.find(begin) + begin.size();
    const auto data = json::parse(page.substr(from, page.find("</script>", from) - from));
    CHECK(data.at("runs").at(0).at("best").at(0).at("value") == best.at("value"));
    CHECK(data.at("runs").at(0).at("best").at(0).at("snapshot") == "snapshots/best");
  }
}

TEST_CASE("metrics that cannot be measured are refused before anything is trained") {
  const auto refusal = [](const std::string& names, const Words& more = {}) {
    std::string text = tiny_config;
    text.replace(text.find("every = 20\n"), 11, "every = 20\nmetrics = [\"" + names + "\"]\n");
    const TempRun place(text);
    const auto outcome = place.train(with({"--run-dir", "run"}, more));
    CHECK_EXIT(outcome, 2);
    CHECK_FALSE(std::filesystem::exists(place.path("run")));
    CHECK_SAYS(outcome, "tiny.toml:22:1: val.metrics: ");
    return outcome.err;
  };
  const auto says = [](const std::string& text, const std::string& part) {
    CHECK_MESSAGE(text.find(part) != std::string::npos, "expected: " << part << "\n" << text);
  };
  says(refusal("acuracy"), "unknown metric 'acuracy'; known: accuracy, accuracy_per_class");
  says(refusal("span_f1"), "'span_f1' is made of 'prediction', which this net does not give");
  says(refusal("top5", {"--set", "data.classes=3"}), "top5 needs 5 classes or more, but there are 3: use top3 at most");
  says(refusal("f1\", \"f1"), "'f1' is there twice");
  says(refusal("ap50"), "metrics of other nets: accuracy, accuracy_per_class");

  const TempRun place;
  const Words patience{"--set", "early_stop.patience=2", "--set", "early_stop.metric=confusion"};
  const auto rule = place.train(with(patience, metrics("confusion")));
  CHECK_EXIT(rule, 2);
  CHECK_SAYS(rule, "early_stop.metric: 'confusion' is not a single number, so it cannot rank snapshots or end a run");
}

}  // namespace flowtrain::metrics_test
