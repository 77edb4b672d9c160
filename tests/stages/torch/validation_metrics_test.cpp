#include "stages/torch/validation/validation_metrics.h"

#include <ATen/ATen.h>

#include <array>
#include <barrier>
#include <cmath>
#include <thread>

#undef CHECK
#include <doctest/doctest.h>

#include "pipeline/base/config/keys.h"
#include "sampling/core/settings.h"
#include "tests/support/parts.h"

namespace flowtrain::validation_metrics_test {

namespace {

/// What another process has, beside this one.
class Pair : public SoloGroup {
 public:
  Pair(std::string lengths, std::vector<double> totals) : lengths_(std::move(lengths)), totals_(std::move(totals)) {}
  int size() const override { return 2; }
  void sum(const char*, std::span<double> values) override {
    REQUIRE(values.size() == totals_.size());
    for (std::size_t i = 0; i < values.size(); ++i) values[i] += totals_[i];
  }
  std::vector<std::string> gather(const char*, const std::string& mine) override { return {mine, lengths_}; }

 private:
  std::string lengths_;
  std::vector<double> totals_;
};

/// Two processes that exchange what they have; each is a thread.
struct Meeting {
  std::barrier<> barrier{2};
  std::array<std::vector<double>, 2> numbers;
  std::array<std::string, 2> texts;
};

class Member : public SoloGroup {
 public:
  Member(Meeting& meeting, std::size_t rank) : meeting_(meeting), rank_(rank) {}
  int rank() const override { return static_cast<int>(rank_); }
  int size() const override { return 2; }
  void sum(const char*, std::span<double> values) override {
    meeting_.numbers[rank_].assign(values.begin(), values.end());
    meeting_.barrier.arrive_and_wait();
    const auto& [first, second] = meeting_.numbers;
    if (first.size() == second.size())  // else they stay as they are, and the test fails
      for (std::size_t i = 0; i < values.size(); ++i) values[i] = first[i] + second[i];
    meeting_.barrier.arrive_and_wait();
  }
  std::vector<std::string> gather(const char*, const std::string& mine) override {
    meeting_.texts[rank_] = mine;
    meeting_.barrier.arrive_and_wait();
    std::vector<std::string> all(meeting_.texts.begin(), meeting_.texts.end());
    meeting_.barrier.arrive_and_wait();
    return all;
  }

 private:
  Meeting& meeting_;
  std::size_t rank_;
};

/// Some of eight rows of three classes, from four cameras; the last row is of none.
void update_rows(ValidationMetrics& metrics, std::int64_t first, std::int64_t last) {
  const at::Tensor predictions = at::tensor({0, 1, 1, 0, 2, 1, 1, 0}, at::kLong),
                   labels = at::tensor({0, 1, 0, 0, 2, 2, 1, 1}, at::kLong);
  const at::Tensor cameras = at::tensor({7, 3, 7, 3, 12, 12, 7, -1}, at::kInt);
  const auto part = [&](const at::Tensor& all) { return all.slice(0, first, last); };
  metrics.update({{"logits", at::one_hot(part(predictions), 3).to(at::kFloat)}},
                 {{"label", part(labels)}, {"camera", part(cameras)}});
}

bool same(const Scalars& a, const Scalars& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](auto& x, auto& y) {
    return x.first == y.first && (x.second == y.second || (std::isnan(x.second) && std::isnan(y.second)));
  });
}

void update(ValidationMetrics& metrics) {  // labels 0 0 1, predictions 0 1 1
  metrics.update({{"logits", at::tensor({1.F, 0.F, 0.F, 1.F, 0.F, 1.F}).view({3, 2})}},
                 {{"label", at::tensor({0, 0, 1})}});
}

ValidationMetrics made(const std::vector<std::string>& names, std::vector<std::string> classes = {"cat", "dog"}) {
  ValidationMetrics metrics(std::move(classes));
  for (auto& name : names)
    metrics.add(name, [name, count = metrics.classes()] { return testing::make_metric(name, count); });
  return metrics;
}

const std::vector<std::string> some{"accuracy", "accuracy_per_class", "confusion"};

const Scalars scalars_of_some{{"accuracy", 2. / 3}, {"accuracy.cat", 0.5}, {"accuracy.dog", 1}};

}  // namespace

TEST_CASE("metrics of one process, and of two of which one had no rows") {
  auto metrics = made(some);
  for (int validation : {1, 2}) {
    CAPTURE(validation);
    metrics.begin();
    update(metrics);
    std::array<double, 1> beside{7};
    CHECK(metrics.end(solo_group(), beside) == scalars_of_some);
    CHECK(beside[0] == 7);
    REQUIRE(metrics.confusion());
    CHECK(metrics.confusion()->counts == std::vector<std::uint64_t>{1, 1, 0, 1});
    CHECK(metrics.confusion()->classes == std::vector<std::string>{"cat", "dog"});
  }
  metrics.begin();
  CHECK_FALSE(metrics.confusion());
  std::array<double, 1> beside{0};
  Pair other("2 6 4 ", {7, 2, 3, 2, 1, 1, 2, 1, 1, 1, 1, 0, 1});
  CHECK(metrics.end(other, beside) == scalars_of_some);
  CHECK(beside[0] == 7);
  REQUIRE(metrics.confusion());
  CHECK(metrics.confusion()->counts == std::vector<std::uint64_t>{1, 1, 0, 1});
  update(metrics);
  metrics.end(other, beside);
  CHECK(metrics.confusion()->counts == std::vector<std::uint64_t>{2, 2, 0, 2});
}

TEST_CASE("classes of which the data set knows nothing have numbers; without rows there are none") {
  auto metrics = made({"accuracy_per_class", "f1", "confusion"}, {});
  std::array<double, 0> beside;
  metrics.begin();
  CHECK(metrics.end(solo_group(), beside) == Scalars{{"f1", 0}});
  CHECK_FALSE(metrics.confusion());
  metrics.begin();
  update(metrics);
  const Scalars scalars = metrics.end(solo_group(), beside);
  REQUIRE(scalars.size() == 3);
  CHECK(scalars[0].first == "accuracy.0");
  CHECK(metrics.confusion()->classes == std::vector<std::string>{"0", "1"});
}

TEST_CASE("metrics that are there twice, or are not made for so few classes") {
  CHECK_THROWS_WITH_AS(made({"f1", "f1"}), "'f1' is there twice", std::invalid_argument);
  CHECK_THROWS_WITH_AS(made({"top3"}), "top3 needs 3 classes or more, but there are 2: use top2 at most",
                       std::invalid_argument);
}

TEST_CASE("each metric for each group of rows, by a number of the batch or by class") {
  std::array<double, 0> beside;
  auto by_camera = made({"accuracy", "f1"}, {"cat", "dog", "eel"});
  by_camera.group_by("camera");
  for (int validation : {1, 2}) {
    CAPTURE(validation);
    by_camera.begin();
    update_rows(by_camera, 0, 3);
    update_rows(by_camera, 3, 8);
    const Scalars scalars = by_camera.end(solo_group(), beside);
    // Camera 3 sees 1 and 0, both right; 7 sees 0, 0 and 1, of which 0 is taken for 1; 12 sees 2 twice, once taken
    // for 1.
    const double f1_of_7 = (2. / 3 + 2. / 3) / 2, f1_of_12 = (2. / 3) / 2;
    REQUIRE(scalars.size() == 8);
    CHECK(scalars[0] == std::pair<std::string, double>{"accuracy", 5. / 8});
    CHECK(same({scalars.begin() + 1, scalars.begin() + 4},
               {{"accuracy.3", 1}, {"accuracy.7", 2. / 3}, {"accuracy.12", 0.5}}));
    CHECK(scalars[4].first == "f1");
    CHECK(scalars[5] == std::pair<std::string, double>{"f1.3", 1});
    CHECK(scalars[6].second == doctest::Approx(f1_of_7));
    CHECK(scalars[7].second == doctest::Approx(f1_of_12));
  }

  // Of a class without rows there is a metric, which is none.
  auto by_class = made({"accuracy"}, {"cat", "dog", "eel"});
  by_class.group_by("label");
  by_class.begin();
  update_rows(by_class, 0, 4);
  CHECK(same(by_class.end(solo_group(), beside),
             {{"accuracy", 3. / 4}, {"accuracy.cat", 2. / 3}, {"accuracy.dog", 1}, {"accuracy.eel", std::nan("")}}));
}

TEST_CASE("groups of which each process has seen but some are the same metrics as those of one process") {
  for (const std::string field : {"camera", "label"}) {
    CAPTURE(field);
    const auto grouped = [&] {
      auto metrics = made({"accuracy", "f1", "perplexity"}, {"cat", "dog", "eel"});
      metrics.group_by(field);
      metrics.begin();
      return metrics;
    };
    auto alone = grouped();
    update_rows(alone, 0, 8);
    std::array<double, 1> all_rows{8};
    const Scalars expected = alone.end(solo_group(), all_rows);
    REQUIRE(expected.size() == 12);
    for (const std::int64_t cut : {0, 1, 4, 5}) {  // the first one's rows; the other has the rest
      CAPTURE(cut);
      Meeting meeting;
      std::array<Scalars, 2> scalars;
      std::array<std::array<double, 1>, 2> rows;
      {
        std::vector<std::jthread> processes;
        for (std::size_t rank : {0, 1})
          processes.emplace_back([&, rank] {
            auto metrics = grouped();
            const std::int64_t first = rank == 0 ? 0 : cut, last = rank == 0 ? cut : 8;
            if (first < last) update_rows(metrics, first, last);
            rows[rank] = {static_cast<double>(last - first)};
            Member member(meeting, rank);
            scalars[rank] = metrics.end(member, rows[rank]);
          });
      }
      for (std::size_t rank : {0, 1}) {
        REQUIRE(scalars[rank].size() == expected.size());
        CHECK(rows[rank][0] == 8);
        for (std::size_t i = 0; i < expected.size(); ++i) {
          CHECK(scalars[rank][i].first == expected[i].first);
          CHECK(scalars[rank][i].second == doctest::Approx(expected[i].second).epsilon(1e-12));
        }
      }
      CHECK(same(scalars[0], scalars[1]));
    }
  }
}

TEST_CASE("groups by the bytes of a text have the text's name; an empty one is none") {
  std::array<double, 0> beside;
  auto metrics = made({"accuracy"});
  metrics.group_by("speaker");
  metrics.begin();
  const std::vector<std::string> speakers{"Ann", "Bo", "Ann", "", "Bo", "Bo"};
  at::Tensor bytes = at::zeros({6, 4}, at::kByte);
  for (std::size_t row = 0; row < speakers.size(); ++row)
    for (std::size_t i = 0; i < speakers[row].size(); ++i)
      bytes[static_cast<std::int64_t>(row)][static_cast<std::int64_t>(i)] = speakers[row][i];
  metrics.update({{"logits", at::one_hot(at::tensor({0, 1, 1, 0, 1, 0}, at::kLong), 2).to(at::kFloat)}},
                 {{"label", at::tensor({0, 1, 0, 0, 1, 1}, at::kLong)}, {"speaker", bytes}});
  CHECK(
      same(metrics.end(solo_group(), beside), {{"accuracy", 4. / 6}, {"accuracy.Ann", 0.5}, {"accuracy.Bo", 2. / 3}}));
}

TEST_CASE("groups by long texts that begin alike stay apart, on two processes, too") {
  const std::string begin(300, 'x');
  at::Tensor bytes = at::zeros({2, 302}, at::kByte);
  bytes.narrow(1, 0, 300).fill_(int{'x'});
  bytes[0][300] = int{'\n'};
  bytes[0][301] = int{'a'};
  bytes[1][300] = int{'b'};
  const at::Tensor logits = at::one_hot(at::tensor({0, 1}, at::kLong), 2).to(at::kFloat),
                   label = at::tensor({0, 0}, at::kLong);
  const std::string name = "accuracy." + begin.substr(0, 200) + "…";
  Meeting meeting;
  std::array<Scalars, 2> scalars;
  {
    std::vector<std::jthread> threads;
    for (std::size_t rank = 0; rank < 2; ++rank)
      threads.emplace_back([&, rank] {
        auto metrics = made({"accuracy"});
        metrics.group_by("speaker");
        metrics.begin();
        const auto own = static_cast<std::int64_t>(rank);
        metrics.update({{"logits", logits.narrow(0, own, 1)}},
                       {{"label", label.narrow(0, own, 1)}, {"speaker", bytes.narrow(0, own, 1)}});
        Member member(meeting, rank);
        std::array<double, 0> beside;
        scalars[rank] = metrics.end(member, beside);
      });
  }
  for (auto& each : scalars) CHECK(same(each, {{"accuracy", 0.5}, {name, 1}, {name + " #2", 0}}));
}

TEST_CASE("groups that cannot be told") {
  const auto net = testing::make_net({"mlp", {.classes = 2, .height = 4, .width = 4}});
  Settings val("val", core_keys("val"));
  val.set("metrics", std::vector<std::string>{"f1"}, {"a.toml", 3, 1});
  const SlabLayout layout({{"image", DType::u8, {4, 4, 3}}, {"label", DType::i64, {}}, {"weight", DType::f32, {}}}, 1);
  const auto refusal = [&](const std::string& field, const std::vector<std::string>& names) -> std::string {
    val.set("group_by", field, {"a.toml", 4, 1});
    auto metrics = made(names);
    metrics.group_by(field);
    try {
      metrics.check_inputs(*net, layout, val);
    } catch (const UserError& error) {
      CHECK(error.code() == ExitCode::usage);
      return error.what();
    }
    return "";
  };
  CHECK(refusal("label", {"f1"}) == "");
  CHECK(refusal("source", {"f1"}) ==
        "a.toml:4:1: val.group_by: 'source' is not among what the sampler gives for validation: image, label, weight");
  for (const char* field : {"image", "weight"})
    CHECK(refusal(field, {"f1"}).ends_with("is neither one whole number for each sample nor the bytes of a text"));
  CHECK(refusal("label", {}).ends_with("val.metrics names no metric to compute for each group"));
  for (const char* table : {"confusion", "accuracy_per_class"})
    CHECK(refusal("label", {"f1", table})
              .find("'" + std::string(table) + "' of val.metrics (a.toml:3:1) is no single metric") !=
          std::string::npos);

  auto many = made({"accuracy"});
  many.group_by("camera");
  many.begin();
  CHECK_THROWS_WITH_AS(many.update({{"logits", at::ones({1025, 2})}},
                                   {{"label", at::zeros({1025}, at::kLong)}, {"camera", at::arange(1025)}}),
                       "'camera' of val.group_by has more than 1024 values", std::invalid_argument);
}

TEST_CASE("what the net or the batches do not give is not measured") {
  const auto net = testing::make_net({"mlp", {.classes = 2, .height = 4, .width = 4}});
  Settings val("val", core_keys("val"));
  val.set("metrics", std::vector<std::string>{"span_f1"}, {"a.toml", 3, 1});
  const auto refusal = [&](const std::string& name, std::vector<Field> fields) -> std::string {
    const SlabLayout layout(std::move(fields), 1);
    try {
      made({name}).check_inputs(*net, layout, val);
    } catch (const UserError& error) {
      CHECK(error.code() == ExitCode::usage);
      return error.what() + std::string(" -> ") + error.hint();
    }
    return "";
  };
  const Field image{"image", DType::u8, {4, 4, 3}}, label{"label", DType::i64, {}};
  CHECK(refusal("f1", {image, label}) == "");
  CHECK(refusal("span_f1", {image, label}) ==
        "a.toml:3:1: val.metrics: 'span_f1' is made of 'prediction', which this net does not give -> "
        "a TorchScript net (net.script) whose forward returns a dict may, or a package (net.package) that was exported "
        "with that output");
  CHECK(refusal("span_f1", {image, {"label", DType::i64, {5}}}) == "");  // of the logits of each position
  CHECK(refusal("f1", {image}) ==
        "a.toml:3:1: val.metrics: 'f1' compares with 'label', not among what the sampler gives: image -> "
        "take another metric, or a sampler whose batches have 'label'");
}

}  // namespace flowtrain::validation_metrics_test
