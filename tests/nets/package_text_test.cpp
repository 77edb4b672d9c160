// Texts by the evaluation graph of a package, which runs them whole.

#include "nets/package/package_text.h"

#include <ATen/ATen.h>
#include <doctest/doctest.h>

#include <stdexcept>

namespace flowtrain::nets::package_text_test {
namespace {

PackageInput input(std::string name, std::vector<std::int64_t> shape, std::string dtype = "int64") {
  return {.field = {std::move(name), std::move(dtype), std::move(shape)}};
}

/// The description of a graph for texts of 2 to 6 tokens, in batches of `rows` (-1: any).
PackageDescription described(std::int64_t rows) {
  PackageDescription description;
  description.device = "cpu";
  for (const char* name : {"tokens", "label", "position", "segment"}) {
    description.inputs.push_back(input(name, {rows, -1}));
    description.inputs.back().free = {{.axis = 1, .least = 2, .most = 6, .extent = 1}};
  }
  description.inputs[1].values = {{.least = 0, .end = 9, .ignored = -100}};
  description.inputs.push_back(input("tokens_length", {rows}, "int32"));
  description.eval.outputs = {{"logits", PackageOutput::Kind::output, ""}};
  return description;
}

/// Counts, of nine ids, those that a text has so far: each place sees what is before it.
at::Tensor counts_of(const at::Tensor& tokens) { return at::one_hot(tokens, 9).cumsum(1).to(at::kFloat); }

}  // namespace

TEST_CASE("a package continues texts without a cache: padded, in its rows, and with what else its graph takes") {
  for (const std::int64_t rows : {-1, 2})
    for (const bool ids_first : {true, false}) {
      const PackageDescription description = described(rows);
      const auto run = [&](const NamedTensors& batch) -> NamedTensors {
        const at::Tensor& tokens = batch.at("tokens");
        CHECK((rows < 0 || tokens.size(0) == rows));
        CHECK(tokens.size(1) >= 2);
        CHECK(at::equal(batch.at("label"), at::full_like(tokens, -100)));
        CHECK(at::equal(batch.at("position")[0], at::arange(tokens.size(1))));
        CHECK((batch.at("tokens_length").scalar_type() == at::kInt));
        CHECK(batch.at("segment")[0].sum().item<std::int64_t>() == batch.at("tokens_length")[0].item<std::int64_t>());
        const at::Tensor counts = counts_of(tokens);
        return {{"logits", ids_first ? counts.transpose(1, 2) : counts}};
      };
      const auto text = PackageText::make(description, run);
      REQUIRE(text);
      CHECK(text->vocabulary() == 9);
      CHECK(text->length() == 6);
      const at::Tensor tokens = at::randint(9, {3, 6}, at::kLong);
      const auto memory = text->begin_texts(3);
      CHECK(at::equal(text->continue_texts(*memory, tokens.narrow(1, 0, 1)), counts_of(tokens).select(1, 0)));
      CHECK(at::equal(text->continue_texts(*memory, tokens.narrow(1, 1, 4)), counts_of(tokens).select(1, 4)));
      CHECK(at::equal(text->continue_texts(*memory, tokens.narrow(1, 5, 1)), counts_of(tokens).select(1, 5)));
      CHECK_THROWS_AS(text->continue_texts(*memory, tokens.narrow(1, 0, 1)), std::invalid_argument);
    }
}

TEST_CASE("a package without tokens or logits continues no texts") {
  PackageDescription description = described(-1);
  const auto run = [](const NamedTensors&) { return NamedTensors(); };
  description.eval.outputs[0].name = "scores";
  CHECK_FALSE(PackageText::make(description, run));
  description.eval.outputs[0].name = "logits";
  description.inputs[0].field.name = "image";
  CHECK_FALSE(PackageText::make(description, run));
  description.inputs[0].field.name = "input_ids";
  CHECK(PackageText::make(description, run));
}

}  // namespace flowtrain::nets::package_text_test
