// The loss ctc beside the sum over all paths, which is what it means.

#include <ATen/ATen.h>
#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include "nets/losses/loss.h"
#include "sampling/core/mistake.h"
#include "sampling/core/warning.h"
#include "tests/support/parts.h"

namespace flowtrain::ctc_test {

using namespace flowtrain::nets;
using flowtrain::Mistake;
using flowtrain::testing::make_loss;
using flowtrain::testing::Values;

namespace {

using Labels = std::vector<std::int64_t>;

/// Returns the labels of a path: without repetitions, then without blanks.
Labels collapsed(const Labels& path, std::int64_t blank) {
  Labels labels;
  for (std::size_t i = 0; i < path.size(); ++i)
    if (path[i] != blank && (i == 0 || path[i] != path[i - 1])) labels.push_back(path[i]);
  return labels;
}

/// Returns -log of the summed probability of all paths through `steps` (T, K) f64 that mean `labels`.
at::Tensor loss_of_paths(const at::Tensor& steps, const Labels& labels, std::int64_t blank) {
  const std::int64_t frames = steps.size(0), kinds = steps.size(1);
  std::vector<at::Tensor> paths;
  const auto count = std::llround(std::pow(kinds, frames));
  for (std::int64_t number = 0; number < count; ++number) {
    Labels path;
    for (std::int64_t rest = number, i = 0; i < frames; ++i, rest /= kinds) path.push_back(rest % kinds);
    if (collapsed(path, blank) == labels)
      paths.push_back(steps.gather(1, at::tensor(path, at::kLong).unsqueeze(1)).sum());
  }
  return -at::stack(paths).logsumexp(0);
}

/// Three rows of five frames with four logits each, of which all, four and three frames are a row's own.
struct Case {
  at::Tensor logits, frames = at::tensor({5, 4, 3}, at::kLong);
  std::vector<Labels> labels;
  std::int64_t blank = 3;

  explicit Case(std::vector<Labels> of_rows) : labels(std::move(of_rows)) {
    at::manual_seed(5);
    logits = at::randn({3, 4, 5}) * 2;
  }

  /// The labels with -100 after each row's own.
  at::Tensor label() const {
    at::Tensor made = at::full({3, 4}, -100, at::kLong);
    for (std::size_t row = 0; row < 3; ++row)
      for (std::size_t i = 0; i < labels[row].size(); ++i)
        made[static_cast<std::int64_t>(row)][static_cast<std::int64_t>(i)] = labels[row][i];
    return made;
  }

  at::Tensor expected(std::size_t row) const {
    const auto place = static_cast<std::int64_t>(row);
    const at::Tensor own = logits[place].narrow(1, 0, frames[place].item<std::int64_t>()).to(at::kDouble);
    return loss_of_paths(own.transpose(0, 1).log_softmax(1), labels[row], blank);
  }
};

NamedTensors loss(const Case& of, const Values& keys = {}) {
  return (*make_loss("ctc", keys))({{"logits", of.logits}, {"logits_length", of.frames}}, {{"label", of.label()}});
}

double number(const at::Tensor& scalar) { return scalar.item<double>(); }

std::string message_of(const NamedTensors& outputs, const NamedTensors& batch, const Values& keys = {}) {
  try {
    (*make_loss("ctc", keys))(outputs, batch);
  } catch (const Mistake& mistake) {
    return mistake.what();
  }
  return "none";
}

std::vector<std::string> warnings;

}  // namespace

TEST_CASE("ctc: the loss and its gradient are those of the sum over all paths") {
  for (const std::int64_t blank : {3, 0})
    for (const bool per_label : {true, false}) {
      CAPTURE(blank);
      CAPTURE(per_label);
      Case of({{1, 1, 2}, {}, {2, 1}});
      of.blank = blank;
      of.logits.requires_grad_();
      Values keys{{"per_label", per_label}};
      if (blank == 0) keys.emplace_back("blank", blank);
      at::Tensor sum = at::zeros({}, at::kDouble);
      for (std::size_t row = 0; row < 3; ++row)
        sum =
            sum + of.expected(row) / (per_label ? std::max<double>(1, static_cast<double>(of.labels[row].size())) : 1);
      (sum / 3).backward();
      const at::Tensor gradient = of.logits.grad().clone();
      of.logits.mutable_grad().reset();
      const NamedTensors made = loss(of, keys);
      CHECK(made.at("loss").dim() == 0);
      CHECK((made.at("loss").scalar_type() == at::kFloat));
      CHECK(number(made.at("loss")) == doctest::Approx(number(sum) / 3).epsilon(1e-6));
      CHECK(number(made.at("count")) == 3);
      CHECK(number(made.at("too_long")) == 0);
      made.at("loss").backward();
      CHECK((of.logits.grad() - gradient).abs().max().item<double>() < 1e-6);
    }
  CHECK(make_loss("ctc")->counts());
}

TEST_CASE("ctc: lengths come from the net, from the frames, or are those of the logits; labels end by their length") {
  Case of({{1, 1, 2}, {0, 2}, {2}});
  const auto value = [&](NamedTensors outputs, const NamedTensors& batch) {
    outputs.add("logits", of.logits);
    return number((*make_loss("ctc"))(outputs, batch).at("loss"));
  };
  const double expected = number(of.expected(0) / 3 + of.expected(1) / 2 + of.expected(2)) / 3;
  const at::Tensor label = of.label(), lengths = at::tensor({3, 2, 1}, at::kLong);
  CHECK(value({{"logits_length", of.frames}}, {{"label", label}}) == doctest::Approx(expected));
  CHECK(value({}, {{"label", label}, {"features_length", of.frames}}) == doctest::Approx(expected));
  CHECK(value({{"logits_length", of.frames}}, {{"label", label}, {"features_length", of.frames * 4}}) ==
        doctest::Approx(expected));
  CHECK(value({{"logits_length", of.frames}},
              {{"label", label.masked_fill(label.lt(0), 2)}, {"label_length", lengths}}) == doctest::Approx(expected));
  CHECK(value({{"logits_length", of.frames.to(at::kInt)}},
              {{"label", label.to(at::kInt)}, {"label_length", lengths.to(at::kInt)}}) == doctest::Approx(expected));
  of.frames.fill_(5);
  const double all = number(of.expected(0) / 3 + of.expected(1) / 2 + of.expected(2)) / 3;
  CHECK(value({}, {{"label", label}}) == doctest::Approx(all));
}

TEST_CASE("ctc: transcripts that are longer than their frames do not count, are told once, or stop") {
  flowtrain::set_warning_sink([](const std::string& text) { warnings.push_back(text); });
  Case of({{1, 1, 2}, {0, 0, 1}, {2, 1, 0, 1}});  // the second one needs four frames, and has them
  of.logits.requires_grad_();
  const auto own = make_loss("ctc");
  NamedTensors made;
  for (int times = 0; times < 2; ++times)
    made = (*own)({{"logits", of.logits}, {"logits_length", of.frames}}, {{"label", of.label()}});
  flowtrain::set_warning_sink(nullptr);
  CHECK(number(made.at("count")) == 2);
  CHECK(number(made.at("too_long")) == doctest::Approx(1.0 / 3));
  CHECK(number(made.at("loss")) == doctest::Approx(number(of.expected(0) / 3 + of.expected(1) / 3) / 2));
  made.at("loss").backward();
  CHECK(of.logits.grad()[2].eq(0).all().item<bool>());
  CHECK(of.logits.grad().isfinite().all().item<bool>());
  REQUIRE(warnings.size() == 1);
  CHECK(warnings[0] ==
        "loss ctc: the transcript of row 2 of a batch needs 4 frames, but the net gives 3; such rows do not count, and "
        "their share of the rows is logged as loss.too_long");
  CHECK_THROWS_WITH_AS(loss(of, {{"too_long", std::string("stop")}}),
                       "loss ctc: the transcript of row 2 of a batch needs 4 frames, but the net gives 3", Mistake);

  Case empty({{1}, {}, {2}});  // a row without frames does not count, even if it has no labels
  empty.frames[1] = 0;
  CHECK(number(loss(empty).at("count")) == 2);
  CHECK(number(loss(empty).at("loss")) == doctest::Approx(number(empty.expected(0) + empty.expected(2)) / 2));
  // A blank stands between labels that are alike.
  CHECK(number(loss(Case({{1}, {0, 0, 0}, {1, 1}})).at("count")) == 2);
  warnings.clear();
  flowtrain::set_warning_sink([](const std::string& text) { warnings.push_back(text); });
  const NamedTensors none = loss(Case({{1, 1, 1, 1}, {0, 0, 0}, {1, 2, 1, 2}}));
  flowtrain::set_warning_sink(nullptr);
  REQUIRE(warnings.size() == 2);
  CHECK(warnings[1] ==
        "loss ctc: none of the 3 transcripts of a batch fits the frames that the net gives, and such a batch teaches "
        "nothing: join fewer frames, or take labels that hold more of a text");
  CHECK(number(none.at("loss")) == 0);
  CHECK(number(none.at("count")) == 0);
  CHECK(number(none.at("too_long")) == 1);
}

TEST_CASE("ctc: with transcripts that fit it is torch's mean, also of logits that are a view") {
  at::manual_seed(8);
  const at::Tensor values = at::randn({6, 40, 11}), frames = at::tensor({40, 33, 21, 40, 15, 9}, at::kLong),
                   lengths = at::tensor({12, 9, 7, 1, 4, 0}, at::kLong), label = at::randint(10, {6, 12}, at::kLong);
  const auto of = [&](bool own) {
    const at::Tensor leaf = values.clone().requires_grad_();
    const at::Tensor loss =
        own ? (*make_loss("ctc"))({{"logits", leaf.transpose(1, 2)}, {"logits_length", frames}},
                                  {{"label", label}, {"label_length", lengths}})
                  .at("loss")
            : at::ctc_loss(leaf.transpose(0, 1).log_softmax(2), label, frames, lengths, 10, at::Reduction::Mean, true);
    loss.backward();
    return std::pair(loss.item<double>(), leaf.grad());
  };
  const auto [own, gradient] = of(true);
  const auto [torchs, expected] = of(false);
  CHECK(own == doctest::Approx(torchs).epsilon(1e-6));
  CHECK(at::allclose(gradient, expected, 1e-5, 1e-7));
}

TEST_CASE("ctc: logits that are not finite are seen, not left out") {
  Case of({{1}, {0}, {2}});
  of.logits[1][2][0] = std::numeric_limits<float>::quiet_NaN();
  CHECK(std::isnan(number(loss(of).at("loss"))));
  of.logits[1].fill_(0);
  of.logits[1][0].fill_(-std::numeric_limits<float>::infinity());
  CHECK(std::isinf(number(loss(of).at("loss"))));
}

TEST_CASE("ctc: what does not fit is named") {
  const Case of({{1}, {0}, {2}});
  const NamedTensors outputs{{"logits", of.logits}, {"logits_length", of.frames}}, batch{{"label", of.label()}};
  CHECK(message_of(outputs, batch) == "none");
  CHECK(message_of({{"logits", at::zeros({3, 4})}}, batch) == "loss ctc: logits have shape [3, 4], expected (B, K, T)");
  CHECK(message_of(outputs, batch, {{"blank", std::int64_t{4}}}) ==
        "loss ctc: blank is 4, but the net gives the logits 0 to 3");
  CHECK(message_of(outputs, {{"label", at::zeros({3}, at::kLong)}}) ==
        "loss ctc: label has shape [3] of Long, and there are 3 rows of logits; expected (B, U) of integers");
  CHECK(message_of(outputs, {{"label", at::full({3, 1}, 3, at::kLong)}}) ==
        "loss ctc: a label is 3, but the net gives the logits 0 to 3, of which 3 is the blank");
  CHECK(message_of(outputs, {{"label", at::full({3, 1}, 9, at::kLong)}}) ==
        "loss ctc: a label is 9, but the net gives the logits 0 to 3, of which 3 is the blank");
  CHECK(message_of(outputs, {{"label", of.label()}, {"label_length", at::tensor({2, 1, 1}, at::kLong)}}) ==
        "loss ctc: a label is -100, but the net gives the logits 0 to 3, of which 3 is the blank");
  CHECK(message_of(outputs, {{"label", of.label()}, {"label_length", at::tensor({5, 1, 1}, at::kLong)}}) ==
        "loss ctc: label_length has 5, but label has room for 4");
  CHECK(message_of({{"logits", of.logits}}, {{"label", of.label()}, {"features_length", of.frames * 4}}) ==
        "loss ctc: features_length has 20, but the net gives logits of 5 frames");
  CHECK(message_of({{"logits", of.logits}, {"logits_length", at::zeros({2}, at::kLong)}}, batch) ==
        "logits_length has shape [2] of Long, expected (B) of integers");
}

}  // namespace flowtrain::ctc_test
