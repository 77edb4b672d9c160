#include "nets/metrics/metric.h"

#include <ATen/ATen.h>

#include <cmath>
#include <fstream>
#include <initializer_list>

#include "sampling/core/mistake.h"
#include "sampling/sampler.h"
#include "sampling/tokens/tokenizer.h"

#undef CHECK
#include <doctest/doctest.h>

#include "tests/support/failure_helper.h"
#include "tests/support/parts.h"
#include "tests/support/paths.h"

namespace flowtrain::metric_test {

using namespace flowtrain::nets;
using flowtrain::testing::make_metric;

namespace {

/// Rows whose logits fall with the distance from `best`, so that class best + d is the d-th next.
void update(Metric& metric, at::IntArrayRef best, at::IntArrayRef label, std::int64_t classes) {
  const at::Tensor distance = at::arange(classes).unsqueeze(0) - at::tensor(best).unsqueeze(1);
  metric.update({{"logits", -distance.remainder(classes).to(at::kFloat)}}, {{"label", at::tensor(label)}});
}

/// Five classes, of which the last one never occurs. Labels of each: 3 2 3 0 0, predictions: 2 3 2 1 0, right: 1 2 2 0
/// 0. In two batches.
double value_of(const std::string& name) {
  const auto metric = make_metric(name, 5);
  update(*metric, {0, 1, 1, 1, 2}, {0, 0, 1, 1, 2}, 5);
  update(*metric, {0, 2, 3}, {2, 2, 0}, 5);
  return metric->value();
}

/// Rows of sequences, filled up with -1.
at::Tensor sequences(std::initializer_list<std::vector<std::int64_t>> rows) {
  std::size_t longest = 0;
  for (auto& row : rows) longest = std::max(longest, row.size());
  at::Tensor all =
      at::full({static_cast<std::int64_t>(rows.size()), static_cast<std::int64_t>(longest)}, -1, at::kLong);
  std::int64_t place = 0;
  for (auto& row : rows)
    all[place++].narrow(0, 0, static_cast<std::int64_t>(row.size())).copy_(at::tensor(row, at::kLong));
  return all;
}

void compare(Metric& metric, std::initializer_list<std::vector<std::int64_t>> prediction,
             std::initializer_list<std::vector<std::int64_t>> target) {
  metric.update({{"prediction", sequences(prediction)}}, {{"target", sequences(target)}});
}

}  // namespace

TEST_CASE("accuracy is exact over batches of uneven sizes") {
  const auto metric = make_metric("accuracy");
  CHECK(metric->value() == 0);
  update(*metric, {0, 1, 2}, {0, 1, 3}, 10);
  update(*metric, {7}, {8}, 10);
  CHECK(metric->value() == 2.0 / 4);
  update(*metric, {9, 9, 9}, {9, 9, 9}, 10);
  CHECK(metric->value() == 5.0 / 7);
  metric->reset();
  CHECK(metric->value() == 0);
  update(*metric, {1}, {1}, 10);
  CHECK(metric->value() == 1);
}

TEST_CASE("topN counts the N largest, of which there must be so many") {
  const auto five = make_metric("top5");
  update(*five, {0, 0, 8}, {4, 5, 2}, 10);  // distances 4, 5 and, around the end, 4
  CHECK(five->value() == 2.0 / 3);
  const auto two = make_metric("top2", 10);
  update(*two, {0, 0, 9}, {1, 2, 0}, 10);
  CHECK(two->value() == 2.0 / 3);
  const char* const message = "top5 needs 5 classes or more, but there are 3: use top3 at most";
  CHECK_THROWS_WITH_AS(make_metric("top5", 3), message, std::invalid_argument);
  CHECK_THROWS_WITH_AS(update(*make_metric("top5"), {0, 1}, {2, 0}, 3), message, std::invalid_argument);
  for (const char* name : {"top", "top0", "top05", "top-1", "top5 ", "top99999999999999999999"})
    CHECK_FALSE(find_metric(name));
}

TEST_CASE("metrics of counts by class") {
  CHECK(value_of("precision") == doctest::Approx((1. / 2 + 2. / 3 + 1 + 0) / 4));
  CHECK(value_of("recall") == doctest::Approx((1. / 3 + 1 + 2. / 3 + 0) / 4));
  CHECK(value_of("balanced_accuracy") == doctest::Approx((1. / 3 + 1 + 2. / 3) / 3));
  CHECK(value_of("f1") == doctest::Approx((2. / 5 + 4. / 5 + 4. / 5 + 0) / 4));
  CHECK(value_of("f1_weighted") == doctest::Approx((3 * 2. / 5 + 2 * 4. / 5 + 3 * 4. / 5) / 8));
  CHECK(value_of("f1_micro") == 5. / 8);
  CHECK(value_of("mean_iou") == doctest::Approx((1. / 4 + 2. / 3 + 2. / 3 + 0) / 4));
  CHECK(value_of("pixel_accuracy") == 5. / 8);
  CHECK(value_of("accuracy") == 5. / 8);
}

TEST_CASE("metrics of each class and of their pairs; totals of several processes add up") {
  const auto each = make_metric("accuracy_per_class"), pairs = make_metric("confusion"),
             other = make_metric("confusion");
  CHECK(each->form() == MetricForm::of_each_class);
  CHECK(pairs->form() == MetricForm::class_pairs);
  for (auto* metric : {each.get(), pairs.get()}) {
    CHECK(metric->by_class());
    CHECK(metric->totals().empty());
    CHECK(metric->scalars({}).empty());
    update(*metric, {0, 1, 2}, {0, 0, 1}, 3);
  }
  const auto accuracies = each->scalars(each->totals());
  REQUIRE(accuracies.size() == 3);
  CHECK(accuracies[0] == 0.5);
  CHECK(accuracies[1] == 0);
  CHECK(std::isnan(accuracies[2]));
  CHECK(pairs->totals() == std::vector<double>{1, 1, 0, 0, 0, 1, 0, 0, 0});
  update(*other, {1}, {0}, 3);
  auto sum = pairs->totals();
  for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += other->totals()[i];
  CHECK(pairs->scalars(sum) == std::vector<double>{1, 2, 0, 0, 0, 1, 0, 0, 0});
  CHECK_THROWS_AS(update(*pairs, {0}, {0}, 4), std::invalid_argument);
}

TEST_CASE("perplexity is that of the mean cross-entropy") {
  const auto metric = make_metric("perplexity");
  CHECK(std::isnan(metric->value()));
  const at::Tensor logits = at::tensor({0.0, std::log(3.0)}).to(at::kFloat).unsqueeze(0);  // probabilities 1/4, 3/4
  metric->update({{"logits", logits}}, {{"label", at::tensor({1})}});
  metric->update({{"logits", logits.expand({2, 2})}}, {{"label", at::tensor({0, -1})}});
  CHECK(metric->value() == doctest::Approx(4 / std::sqrt(3.0)));
}

TEST_CASE("pixels without a label do not count") {
  // Labels 0 1 / - 1, predictions 0 0 / 1 1.
  const at::Tensor one = at::tensor({0.0F, 0.0F, 1.0F, 1.0F}).view({1, 1, 2, 2});
  const NamedTensors outputs{{"logits", at::cat({0.5 - one, one - 0.5}, 1)}};
  const NamedTensors batch{{"label", at::tensor({0, 1, -100, 1}).view({1, 2, 2})}};
  const auto value = [&](const std::string& name) {
    const auto metric = make_metric(name);
    metric->update(outputs, batch);
    return metric->value();
  };
  CHECK(value("mean_iou") == 0.5);
  for (const char* name : {"pixel_accuracy", "accuracy"}) CHECK(value(name) == doctest::Approx(2. / 3));
  CHECK(value("balanced_accuracy") == 0.75);
  const double nll = (2 * std::log1p(std::exp(-1.0)) + std::log1p(std::exp(1.0))) / 3;
  CHECK(value("perplexity") == doctest::Approx(std::exp(nll)));
  CHECK_THROWS_WITH_AS(make_metric("mean_iou")->update(outputs, {{"label", at::zeros({1, 2}, at::kLong)}}),
                       "logits have shape [1, 2, 2, 2] and label has [1, 2], expected (B, K, …) and (B, …)",
                       std::invalid_argument);
  try {
    make_metric("perplexity")->update({{"logits", at::zeros({2, 5, 7})}}, {{"label", at::zeros({2, 5}, at::kLong)}});
    FAIL("logits with the classes last were taken");
  } catch (const flowtrain::Mistake& mistake) {
    CHECK(mistake.hint().find("logits.movedim(-1, 1)") != std::string::npos);
  }
}

TEST_CASE("the error rate counts what is inserted, removed and replaced, over all targets") {
  const auto metric = make_metric("error_rate");
  CHECK(std::isnan(metric->value()));
  compare(*metric, {{11, 9, 20, 20, 5, 14}}, {{19, 9, 20, 20, 9, 14, 7}});  // kitten, sitting: 3
  CHECK(metric->value() == doctest::Approx(3. / 7));
  compare(*metric, {{}, {4}, {1, 2, 3}}, {{5, 6}, {}, {1, 2, 3}});  // 2, 1, 0
  CHECK(metric->value() == doctest::Approx(6. / 12));
  metric->reset();
  compare(*metric, {{1, 2, 3}}, {{4}});
  CHECK(metric->value() == 3);
  CHECK_THROWS_WITH_AS(metric->update({{"prediction", at::zeros({1, 2})}}, {{"target", sequences({{1}})}}),
                       "prediction has shape [1, 2] of Float, expected (B, T) of integers", std::invalid_argument);
  CHECK_THROWS_WITH_AS(compare(*metric, {{1}, {2}}, {{1}}), "prediction has 2 rows, but target has 1",
                       std::invalid_argument);
}

TEST_CASE("rates of word and character errors compare the texts of ids, as jiwer does") {
  flowtrain::Field label{.name = "label", .dtype = flowtrain::DType::i64, .shape = {8}};
  label.tokenizer = flowtrain::byte_tokenizer();
  const auto make = [&](const std::string& name, std::span<const flowtrain::Field> fields) {
    return flowtrain::nets::make_metric(flowtrain::Settings("val", find_metric(name)->keys), {0, name, fields});
  };
  const auto ids = [](const std::string& text) { return std::vector<std::int64_t>(text.begin(), text.end()); };
  const auto wer = make("wer", {&label, 1}), cer = make("cer", {&label, 1});
  const auto update = [&](const std::string& prediction, const std::string& truth) {
    for (auto* metric : {wer.get(), cer.get()})
      metric->update({{"prediction", sequences({ids(prediction)})}}, {{"label", sequences({ids(truth)})}});
  };
  CHECK(std::isnan(wer->value()));
  update("two words", "");
  CHECK(wer->value() == 2);  // without a word to find, the number of edits
  CHECK(cer->value() == 9);
  update("the cut sat", " the cat sat down");
  CHECK(wer->value() == doctest::Approx((2 + 2) / 4.));
  CHECK(cer->value() == doctest::Approx((9 + 1 + 5) / 16.));
  CHECK(wer->totals() == std::vector<double>{4, 4, 2});
  // Zeros fill up a row, as is the default; label_length tells its end.
  wer->reset();
  wer->update({{"prediction", sequences({ids("a cat")})}},
              {{"label", sequences({{'a', ' ', 'c', 'a', 't', 0, 0}})}, {"label_length", at::tensor({5}, at::kLong)}});
  CHECK(wer->value() == 0);
  CHECK_THROWS_AS(wer->update({{"prediction", sequences({ids("a")})}},
                              {{"label", sequences({ids("a")})}, {"label_length", at::tensor({1, 1}, at::kLong)}}),
                  std::invalid_argument);
  const auto inputs = wer->inputs();
  CHECK(inputs.front().output == "prediction");
  CHECK(inputs.front().field == "label");
  CHECK_THROWS_WITH_AS(make("wer", {}), "'wer' compares texts, and the field 'label' has no tokenizer",
                       flowtrain::Mistake);
}

TEST_CASE("spans are right as a whole; what goes on with nothing begins a span") {
  const auto value = [](const std::string& name) {
    const auto metric = make_metric(name);
    CHECK(metric->value() == 0);
    // Target: 0-1 of kind 1, 3-5 of kind 2, 7 of kind 1. Found: 0-1 of kind 1, 3-4 of kind 2, 7 of kind 1.
    compare(*metric, {{1, 2, 0, 3, 4, 0, 0, 1}}, {{1, 2, 0, 3, 4, 4, 0, 2}});
    // Target: 0, 1-2 of kind 1, 3 of kind 2. Found up to its end: 0-2 of kind 1, 3 of kind 2.
    compare(*metric, {{1, 2, 2, 4, 4, 4}}, {{1, 1, 2, 4}});
    return metric->value();
  };
  CHECK(value("span_precision") == doctest::Approx(3. / 5));
  CHECK(value("span_recall") == doctest::Approx(3. / 6));
  CHECK(value("span_f1") == doctest::Approx(6. / 11));
  CHECK(make_metric("span_f1")->inputs().front().output == "prediction");
}

TEST_CASE("spans of the largest logits: positions without a label are left out, and do not end a sequence") {
  // Whole words have labels on their first pieces. Tags 1 2 0 against 1 2 1: one span of one found, of two true ones.
  const at::Tensor label = at::tensor({1, -100, 2, -100, 1, -100}, at::kLong).unsqueeze(0);
  const at::Tensor best = at::tensor({1, 0, 2, 1, 0, 1}, at::kLong).unsqueeze(0);
  const NamedTensors outputs{{"logits", at::one_hot(best, 3).to(at::kFloat).transpose(1, 2)}};
  const auto value = [&](const std::string& name, const NamedTensors& batch) {
    const auto metric = make_metric(name);
    metric->update(outputs, batch);
    return metric->value();
  };
  CHECK(value("span_precision", {{"label", label}}) == 1);
  CHECK(value("span_recall", {{"label", label}}) == 0.5);
  // In a packed row the tag 2 of another document begins a span of its own.
  const at::Tensor segment = at::tensor({1, 1, 2, 2, 2, 2}, at::kInt).unsqueeze(0);
  CHECK(value("span_recall", {{"label", label}, {"segment", segment}}) == doctest::Approx(2. / 3));
  CHECK_THROWS_WITH_AS(value("span_f1", {{"label", label.narrow(1, 0, 5)}}), doctest::Contains("logits have shape"),
                       std::invalid_argument);
  CHECK_THROWS_WITH_AS(make_metric("span_f1")->update({{"logits", at::zeros({2, 3})}}, {{"label", at::zeros(2)}}),
                       "label has shape [2], expected (B, T)", std::invalid_argument);
}

TEST_CASE("spans are those of seqeval in 1,000 random cases") {
  std::ifstream golden(flowtrain::test::source_path("tests/nets/golden/spans.txt"));
  REQUIRE(golden.is_open());
  std::int64_t state = 1;
  const auto draw = [&](std::int64_t count) {
    state = (state * 1103515245 + 12345) % (std::int64_t{1} << 31);
    return (state >> 16) % count;
  };
  const auto f1 = make_metric("span_f1"), all = make_metric("span_f1"), precision = make_metric("span_precision"),
             recall = make_metric("span_recall");
  double expected = 0;
  for (int i = 0; i < 1000; ++i) {
    CAPTURE(i);
    const std::int64_t tags = 2 * (1 + draw(3)) + 1;
    std::vector<std::int64_t> target(static_cast<std::size_t>(1 + draw(24))), found;
    for (auto& tag : target) tag = draw(tags);
    for (const auto tag : target) found.push_back(draw(2) == 1 ? tag : draw(tags));
    const at::Tensor label = at::tensor(target, at::kLong).unsqueeze(0),
                     logits = at::one_hot(at::tensor(found, at::kLong), 7).t().unsqueeze(0);
    f1->reset();
    for (auto* metric : {f1.get(), all.get(), precision.get(), recall.get()})
      metric->update({{"logits", logits}}, {{"label", label}});
    golden >> expected;
    CHECK(std::abs(f1->value() - expected) < 1e-6);
  }
  for (auto* metric : {precision.get(), recall.get(), all.get()}) {
    golden >> expected;
    CHECK(std::abs(metric->value() - expected) < 1e-8);
  }
  CHECK(golden.good());
}

TEST_CASE("bits per byte are of all bytes that the labels stand for") {
  const at::Tensor logits = at::tensor({0.0, std::log(3.0)}).to(at::kFloat).view({1, 2, 1}).expand({1, 2, 3});
  const at::Tensor label = at::tensor({0, 1, -100}, at::kLong).unsqueeze(0);  // probabilities 1/4, 3/4
  const auto value = [&](const NamedTensors& batch) {
    const auto metric = make_metric("bits_per_byte");
    CHECK(std::isnan(metric->value()));
    metric->update({{"logits", logits}}, batch);
    metric->update({{"logits", logits}}, batch);
    return metric->value();
  };
  const double bits = 2 + std::log2(4.0 / 3);
  CHECK(value({{"label", label}}) == doctest::Approx(bits / 2));
  CHECK(value({{"label", label}, {"label_bytes", at::tensor({3, 4, 9}, at::kInt).unsqueeze(0)}}) ==
        doctest::Approx(bits / 7));
  const NamedTensors many{{"logits", at::zeros({1, 258})}};
  CHECK_THROWS_WITH_AS(make_metric("bits_per_byte")->update(many, {{"label", at::zeros({1}, at::kLong)}}),
                       "the 258 ids stand for different numbers of bytes, which the batches do not say: they have no "
                       "field `label_bytes`",
                       flowtrain::Mistake);
}

TEST_CASE("labels that are ids of another tokenizer than that of bytes need the bytes of each") {
  flowtrain::Field label{.name = "label", .dtype = flowtrain::DType::i64, .shape = {8}, .values = 81};
  const auto make = [&](const std::vector<flowtrain::Field>& fields) {
    const std::string name = "bits_per_byte";
    return flowtrain::nets::make_metric(flowtrain::Settings("val", find_metric(name)->keys), {81, name, fields});
  };
  make({label});  // what the ids stand for is not known
  label.tokenizer = flowtrain::parse_tokenizer(
      R"({"version": "1.0", "model": {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##",
          "max_input_chars_per_word": 100, "vocab": {"[UNK]": 0, "word": 1, "##s": 2}}})",
      "tokenizer.json");
  CHECK_THROWS_WITH_AS(make({label}), doctest::Contains("the 3 ids stand for different numbers of bytes"),
                       flowtrain::Mistake);
  make({label, {.name = "label_bytes", .dtype = flowtrain::DType::i32, .shape = {8}}});
  label.tokenizer = flowtrain::byte_tokenizer();
  label.values = 257;
  make({label});
}

TEST_CASE("each document of a packed row matches by itself") {
  const at::Tensor best = at::tensor({0, 1, 2, 2, 1, 0, 1, 1}, at::kLong).view({2, 4});
  const at::Tensor label = at::tensor({0, 1, 2, 1, 1, -100, -100, 1}, at::kLong).view({2, 4});
  const NamedTensors outputs{{"logits", at::one_hot(best, 3).transpose(1, 2)}};
  const auto value = [&](const NamedTensors& batch) {
    const auto metric = make_metric("exact_match");
    metric->update(outputs, batch);
    return metric->value();
  };
  CHECK(value({{"label", label}}) == 0.5);
  // Right: 0 1, and the last 1; wrong: 2 1; and no label: 0 1 of the second row's middle.
  const at::Tensor segment = at::tensor({1, 1, 2, 2, 1, 2, 2, 3}, at::kInt).view({2, 4});
  CHECK(value({{"label", label}, {"segment", segment}}) == doctest::Approx(3. / 4));
}

TEST_CASE("a row matches exactly if all of its labels are predicted; one without labels does not count") {
  const auto metric = make_metric("exact_match");
  CHECK(metric->value() == 0);
  const at::Tensor best = at::tensor({0, 1, 2, 2, 1, 0, 1, 1, 1, 0, 0, 0}, at::kLong).view({4, 3});
  const at::Tensor label = at::tensor({0, 1, 2, 2, 1, 1, 1, -100, 1, -100, -1, -100}, at::kLong).view({4, 3});
  metric->update({{"logits", at::one_hot(best, 3).transpose(1, 2)}}, {{"label", label}});
  CHECK(metric->value() == doctest::Approx(2. / 3));
  update(*metric, {7}, {8}, 10);
  CHECK(metric->value() == 0.5);
}

TEST_CASE("perplexity and accuracy of a view of (B, L, K) are those of (B, K, L), for many classes, too") {
  at::manual_seed(4);
  const at::Tensor logits = at::randn({2, 3, 2000}).transpose(1, 2);
  const at::Tensor label = at::tensor({5, 1999, -100, 0, 7, -1}, at::kLong).view({2, 3});
  for (const std::string name : {"perplexity", "accuracy", "exact_match", "top5"}) {
    const auto view = make_metric(name), copy = make_metric(name);
    view->update({{"logits", logits}}, {{"label", label}});
    copy->update({{"logits", logits.contiguous()}}, {{"label", label}});
    CHECK(view->value() == doctest::Approx(copy->value()).epsilon(1e-9));
  }
  // More values than are taken at a time.
  const at::Tensor large = at::randn({9, 1 << 20}), of_large = at::arange(9);
  const auto whole = make_metric("perplexity"), rows = make_metric("perplexity");
  whole->update({{"logits", large}}, {{"label", of_large}});
  for (std::int64_t i = 0; i < 9; ++i)
    rows->update({{"logits", large.narrow(0, i, 1)}}, {{"label", of_large.narrow(0, i, 1)}});
  CHECK(whole->totals() == rows->totals());
}

TEST_CASE("a label that there is no logit for is refused by every metric of classes") {
  const at::Tensor logits = at::zeros({2, 3}), label = at::tensor({0, 3}, at::kLong);
  for (const std::string name : {"accuracy", "perplexity", "f1", "accuracy_per_class", "confusion"})
    CHECK_THROWS_WITH_AS(make_metric(name)->update({{"logits", logits}}, {{"label", label}}),
                         "a label is 3, but the net gives 3 logits per row, for the labels 0 to 2", flowtrain::Mistake);
}

TEST_CASE("an unknown metric lists the known ones") {
  CHECK_FALSE(find_metric("ap"));
  const flowtrain::UserError unknown = flowtrain::failure_of([] { metrics().at("ap"); });
  CHECK(std::string(unknown.what()) == "no metric is called 'ap'");
  CHECK(unknown.hint() ==
        "known: accuracy, accuracy_per_class, balanced_accuracy, bits_per_byte, cer, confusion, error_rate, "
        "exact_match, f1, "
        "f1_micro, f1_weighted, mean_iou, perplexity, pixel_accuracy, precision, recall, span_f1, span_precision, "
        "span_recall, topN, wer");
  for (const std::string& name : metrics().names()) CHECK(find_metric(name == "topN" ? "top3" : name));
}

}  // namespace flowtrain::metric_test
