// The results of single rows are read from a batch's outputs.

#include "stages/torch/validation/row_reader.h"

#include <ATen/ATen.h>
#include <doctest/doctest.h>

#include <cmath>
#include <vector>

#include "sampling/tokens/tokenizer.h"

namespace flowtrain::row_reader_test {

using nets::NamedTensors;

namespace {

RowResults read_rows(const NamedTensors& outputs, const NamedTensors& batch, const std::vector<std::size_t>& shown = {},
                     const std::vector<Field>& fields = {}) {
  RowReader rows(fields, shown);
  Readout readout;
  const auto before = readout.ask(at::full({}, 7.0));
  rows.ask(readout, outputs, batch);
  readout.fetch();
  CHECK(readout.one(before) == 7);
  return rows.read(readout);
}

}  // namespace

TEST_CASE("rows of classes have a loss, a prediction and its probability") {
  const at::Tensor logits = at::tensor({1.0F, 2.0F, 0.5F, -1.0F, 0.0F, 3.0F, 1.0F, 1.0F, 1.0F}).view({3, 3});
  const at::Tensor label = at::tensor({2, 2, -1}, at::kLong);
  const auto results = read_rows({{"logits", logits}}, {{"image", at::zeros({3, 1, 2, 2})}, {"label", label}}, {0});
  CHECK(results.kind == "classify");
  REQUIRE(results.rows.size() == 3);
  const auto log_softmax = logits.log_softmax(1);
  for (int row = 0; row < 2; ++row) {
    const auto& result = results.rows[static_cast<std::size_t>(row)];
    CHECK(result.loss == doctest::Approx(-log_softmax[row][2].item<double>()));
    CHECK(result.prediction == 1 + row);
    CHECK(result.score == doctest::Approx(std::exp(log_softmax[row][1 + row].item<double>())));
    CHECK(result.made.pixels.empty());
  }
  CHECK(std::isnan(results.rows[2].loss));  // it has no label
  const auto other = read_rows(
      {{"logits", logits}}, {{"image", at::zeros({3, 1, 2, 2})}, {"label", at::tensor({2, 3, 1000}, at::kLong)}}, {0});
  CHECK(other.rows[0].loss == doctest::Approx(results.rows[0].loss));
  CHECK(std::isnan(other.rows[1].loss));  // a label of no class
  CHECK(std::isnan(other.rows[2].loss));
}

TEST_CASE("rows of texts have both texts and their edits") {
  Field label{.name = "label", .dtype = DType::i64, .shape = {8}};
  label.tokenizer = byte_tokenizer();
  const at::Tensor prediction = at::tensor({104, 105, -1, 111, 32, 107}, at::kLong).view({2, 3}),
                   truth = at::tensor({104, 111, -100, -100, 111, 32, 107, -100}, at::kLong).view({2, 4});
  const auto results =
      read_rows({{"prediction", prediction}, {"logits", at::zeros({2, 258, 3})}}, {{"label", truth}}, {}, {label});
  CHECK(results.kind == "transcribe");
  REQUIRE(results.rows.size() == 2);
  REQUIRE(results.rows[0].transcript);
  CHECK(results.rows[0].transcript->hypothesis == "hi");
  CHECK(results.rows[0].transcript->reference == "ho");
  CHECK(results.rows[0].transcript->characters.edits == 1);
  CHECK(results.rows[0].badness() == 1);
  CHECK(results.rows[1].transcript->hypothesis == "o k");
  CHECK(results.rows[1].badness() == 0);
  const NamedTensors filled{{"label", truth.clamp_min(0)}, {"label_length", at::tensor({2, 3}, at::kLong)}};
  const auto same = read_rows({{"prediction", prediction}}, filled, {}, {label});
  CHECK(same.rows[0].transcript->reference == "ho");
  CHECK(same.rows[1].badness() == 0);
  const Field plain{.name = "label", .dtype = DType::i64, .shape = {8}};
  CHECK(read_rows({{"prediction", prediction}}, {{"label", truth}}, {}, {plain}).kind == "samples");
}

TEST_CASE("rows of tokens have the mean loss of those with a label") {
  at::Tensor logits = at::zeros({2, 3, 2});
  logits[1][2][0] = 5;
  const at::Tensor label = at::tensor({0, -100, 2, -100}, at::kLong).view({2, 2});
  const auto results = read_rows({{"logits", logits}}, {{"label", label}}, {1});
  CHECK(results.kind == "tokens");
  REQUIRE(results.rows.size() == 2);
  CHECK(results.rows[0].loss == doctest::Approx(std::log(3)));
  CHECK(results.rows[1].loss == doctest::Approx(std::log(std::exp(5) + 2) - 5));
  CHECK(results.rows[1].prediction == -1);
  CHECK(read_rows({{"logits", at::zeros({2, 3, 4})}}, {{"label", label}}).kind == "samples");  // of other lengths
  const at::Tensor lengths = at::tensor({2, 2}, at::kLong);  // of frames, which have no labels of their own
  CHECK(read_rows({{"logits", logits}, {"logits_length", lengths}}, {{"label", label}}).kind == "samples");
}

TEST_CASE("rows of pixels have the mean loss of those with a label, and maps of classes") {
  at::Tensor logits = at::zeros({2, 3, 1, 2});
  logits[1][2][0][0] = 5;
  logits[1][1][0][1] = 5;
  const at::Tensor label = at::tensor({0, -100, 2, 0}, at::kLong).view({2, 1, 2});
  const auto results = read_rows({{"logits", logits}}, {{"label", label}}, {1});
  CHECK(results.kind == "segment");
  REQUIRE(results.rows.size() == 2);
  CHECK(results.rows[0].loss == doctest::Approx(std::log(3)));
  CHECK(results.rows[0].made.pixels.empty());  // it is not shown
  CHECK(results.rows[1].made.pixels == std::vector<std::uint8_t>{255, 128});
  CHECK(results.rows[1].wanted.pixels == std::vector<std::uint8_t>{255, 0});
  CHECK(results.rows[1].wanted.width == 2);
  CHECK(results.rows[1].prediction == -1);
}

TEST_CASE("pictures that a net makes are taken out of their normalisation") {
  at::Tensor image = at::zeros({2, 3, 2, 2});
  image[1][0].fill_(1);
  image[1][2].fill_(-1);
  const std::vector<Field> fields{{"image", DType::u8, {2, 2, 3}, {0.5, 0.5, 0.5}, {0.5, 0.5, 0.5}}};
  const auto results = read_rows({{"image", image}}, {{"image", at::zeros({2, 3, 2, 2})}}, {1}, fields);
  CHECK(results.kind == "generate");
  CHECK(std::isnan(results.rows[1].loss));
  const auto& pixels = results.rows[1].made.pixels;
  REQUIRE(pixels.size() == 12);
  for (std::size_t i = 0; i < 12; i += 3)
    CHECK(std::vector<std::uint8_t>{pixels[i], pixels[i + 1], pixels[i + 2]} == std::vector<std::uint8_t>{255, 128, 0});
}

TEST_CASE("of other outputs nothing is told but the number of rows") {
  const at::Tensor values = at::zeros({2, 4});
  for (const NamedTensors& outputs :
       {NamedTensors{{"prediction", values}}, NamedTensors{{"logits", values}}, NamedTensors()}) {
    const auto results = read_rows(outputs, {{"image", at::zeros({2, 1, 2, 2})}, {"target", values}}, {0});
    CHECK(results.kind == "samples");
    REQUIRE(results.rows.size() == 2);
    CHECK(std::isnan(results.rows[0].loss));
    CHECK(results.rows[0].prediction == -1);
  }
}

}  // namespace flowtrain::row_reader_test
