// flowtrain predict: the tags of words, and what a model of language expects of texts.

#include <doctest/doctest.h>

#include <cmath>
#include <sstream>

#include "sampling/core/text.h"
#include "tests/support/temp_run.h"
#include "tests/support/token_shards.h"

namespace flowtrain::predict_text_test {
namespace {

using nlohmann::json;

const std::string rest_of_config =
    "[loader]\nbatch = 8\nworkers = 2\n[loss]\nname = \"cross_entropy\"\nignore_index = -100\n"
    "[optim]\nname = \"adamw\"\nlr = 0.01\n[snapshot]\nevery = 40\n[display]\nevery = 20\n";

std::vector<json> lines_of(const std::string& text) {
  std::vector<json> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(json::parse(line));
  return lines;
}

/// A tagger of bytes that learns that "EU" and "UN" are organisations.
const std::string config_of_tags =
    "name = \"tiny\"\n[run]\nthreads = 1\nmax_iter = 40\n[data]\ndataset = \"manifest\"\npath = \"tags.jsonl\"\n"
    "val_share = 0.1\n[[field]]\nname = \"tokens\"\nfrom = \"words\"\nas = \"tags\"\ntags_from = \"tags\"\n"
    "tags = [\"O\", \"B-ORG\", \"I-ORG\"]\nmax = 32\n"
    "[net]\nname = \"encoder\"\nlayers = 1\nheads = 2\nwidth = 32\ndropout = 0.0\n"
    "[val]\nevery = 20\nmetrics = [\"accuracy\"]\n" +
    rest_of_config;

std::string table_of_tags(int rows) {
  std::string table;
  for (int row = 0; row < rows; ++row)
    table += concat(R"({"words": ")", row % 2 ? "EU rejects call" : "calls reject UN", R"(", "tags": ")",
                    row % 2 ? "B-ORG O O" : "O O B-ORG", "\"}\n");
  return table;
}

}  // namespace

TEST_CASE("predict tags the words of tables and requests, and tests show the words of the worst records") {
  const TempRun place(config_of_tags);
  place.folder().write("tags.jsonl", table_of_tags(80));
  REQUIRE_EXIT(place.train({"--run-dir", "run"}), 0);

  place.folder().write("new.jsonl", "{\"words\": \"EU rejects call\"}\n{\"words\": [\"calls\", \"UN\"]}\n");
  const auto table = place.run({"predict", "run", "new.jsonl", "--iter", "40"});
  REQUIRE_EXIT(table, 0);
  CHECK_PRINTS(table, "new.jsonl:1  EU/B-ORG rejects/O call/O  tokens: EU rejects call\n");
  const auto lines = place.run({"predict", "run", "new.jsonl", "--iter", "40", "--jsonl"});
  REQUIRE_EXIT(lines, 0);
  const auto answers = lines_of(lines.out);
  REQUIRE(answers.size() == 2);
  CHECK(answers[0].at("shown") == "EU/B-ORG rejects/O call/O");
  CHECK_FALSE(answers[0].contains("perplexity"));
  CHECK_FALSE(answers[0].at("input").contains("word_begin"));
  const auto& tokens = answers[0].at("tokens");
  REQUIRE(tokens.size() == 3);
  CHECK(tokens[0].at("text") == "EU");
  CHECK(tokens[0].at("class") == "B-ORG");
  CHECK(tokens[0].at("label") == 1);
  CHECK(tokens[0].at("score").get<double>() > 0.5);
  CHECK_FALSE(tokens[0].contains("probability"));
  CHECK(tokens[1].at("text") == "rejects");
  CHECK(answers[1].at("tokens").size() == 2);
  const auto csv = place.run({"predict", "run", "new.jsonl", "--iter", "40", "--csv", "-"});
  CHECK_PRINTS(csv, "file,place,text,class,label,score,probability,error\nnew.jsonl:1,1,EU,B-ORG,1,");

  ProcessOptions options = place.process_options();
  options.input = place.folder().write("requests", "{\"words\": \"EU rejects call\", \"id\": 4}\n");
  const auto asked = run_program({"predict", "run", "--iter", "40", "--jsonl"}, options);
  REQUIRE_EXIT(asked, 0);
  const auto answer = lines_of(asked.out).at(0);
  CHECK(answer.at("id") == 4);
  CHECK(answer.at("shown") == answers[0].at("shown"));

  const auto refused = place.run({"predict", "run", "new.jsonl", "--jsonl", "--logits"});
  CHECK_EXIT(refused, 2);
  CHECK_SAYS(refused, "--logits: the net has logits for each token");

  REQUIRE_EXIT(place.run({"test", "run", "--iter", "40"}), 0);
  const auto worst = json::parse(read_text(place.path("run/test/iter-00000040/pictures.json"))).at("worst").at(0);
  const std::string label = worst.at("fields").at(1).at("text");
  CHECK((label == "EU/B-ORG rejects/O call/O" || label == "calls/O reject/O UN/B-ORG"));
  // The lines of the records add up to the metrics.
  const auto samples = lines_of(read_text(place.path("run/test/iter-00000040/samples.jsonl")));
  const auto metrics = json::parse(read_text(place.path("run/test/iter-00000040/summary.json"))).at("metrics");
  double counted = 0, right = 0, loss = 0;
  for (auto& sample : samples) {
    counted += sample.at("tokens").get<double>();
    right += sample.at("right").get<double>();
    loss += sample.at("loss").get<double>() * sample.at("tokens").get<double>();
  }
  CHECK(metrics.at("accuracy").get<double>() == doctest::Approx(right / counted));
  CHECK(metrics.at("loss").get<double>() == doctest::Approx(loss / counted));
  REQUIRE_EXIT(place.run({"report", "run"}), 0);
  CHECK(read_text(place.path("run/report.html")).find("\"test val\"") != std::string::npos);
}

TEST_CASE("predict tells how well a model of language expects a text, also from shards of tokens") {
  const TempRun place(
      "name = \"tiny\"\n[run]\nthreads = 1\nmax_iter = 40\n[data]\ndataset = \"tokens\"\npath = \"t.tokens\"\n"
      "window = 8\n[[field]]\nname = \"tokens\"\nfrom = \"tokens\"\nas = \"lm\"\nmax = 8\ntokenizer = \"bytes\"\n"
      "[net]\nname = \"gpt2\"\nlayers = 1\nheads = 2\nwidth = 32\n[val]\nevery = 0\n" +
      rest_of_config);
  std::vector<std::uint32_t> ids;
  for (int i = 0; i < 60; ++i)
    for (const char letter : std::string("the fox. ")) ids.push_back(static_cast<unsigned char>(letter));
  ids.push_back(256);
  place.folder().write("t.tokens", token_shard({ids}, 257, 256));
  REQUIRE_EXIT(place.train({"--run-dir", "run"}), 0);
  const auto lines = place.run({"predict", "run", "t.tokens", "--jsonl"});
  REQUIRE_EXIT(lines, 0);
  const auto answer = lines_of(lines.out).at(0);
  CHECK(answer.at("input").at("tokens") == "the fox.");
  REQUIRE(answer.at("tokens").size() == 8);
  double sum = 0;
  for (auto& token : answer.at("tokens")) sum -= std::log(token.at("probability").get<double>());
  CHECK(answer.at("perplexity").get<double>() == doctest::Approx(std::exp(sum / 8)));
  CHECK(answer.at("perplexity").get<double>() < 100);
  CHECK(answer.at("tokens").at(0).at("text") == "h");
  const auto table = place.run({"predict", "run", "t.tokens"});
  REQUIRE_EXIT(table, 0);
  CHECK_PRINTS(table, "  perplexity ");
}

TEST_CASE("predict reads files of text as training does, and draws for masked tokens as validation does") {
  const TempRun place(
      "name = \"tiny\"\n[run]\nthreads = 1\nmax_iter = 10\n[data]\ndataset = \"text\"\npath = \"texts.txt\"\n"
      "unit = \"line\"\n[[field]]\nname = \"tokens\"\nfrom = \"text\"\nas = \"masked_lm\"\nmax = 32\nmask = "
      "\"<|endoftext|>\"\n"
      "share = 0.3\n[net]\nname = \"encoder\"\nlayers = 1\nheads = 2\nwidth = 16\n[val]\nevery = 0\nmetrics = []\n" +
      rest_of_config);
  std::string text, table;
  for (int line = 0; line < 8; ++line) {
    text += "the quick fox\n";
    table += "{\"text\": \"the quick fox\"}\n";
  }
  place.folder().write("texts.txt", text);
  place.folder().write("rows.jsonl", table);
  place.folder().write("plain.txt", "the quick fox");
  place.folder().write("marked.txt", "\xef\xbb\xbfthe quick fox");
  place.folder().write("zero.txt", std::string("the\0fox", 7));
  REQUIRE_EXIT(place.train({"--run-dir", "run"}), 0);
  REQUIRE_EXIT(place.run({"test", "run"}), 0);
  const auto measured = lines_of(read_text(place.path("run/test/iter-00000010/samples.jsonl")));
  const auto rows = lines_of(place.run({"predict", "run", "rows.jsonl", "--jsonl"}).out);
  REQUIRE(measured.size() == 8);
  REQUIRE(rows.size() == 8);
  for (std::size_t i = 0; i < 8; ++i)
    CHECK(std::log(rows[i].at("perplexity").get<double>()) ==
          doctest::Approx(measured[i].at("loss").get<double>()).epsilon(1e-4));
  const auto answer = [&](const std::string& file) {
    return lines_of(place.run({"predict", "run", file, "--jsonl"}).out).at(0).at("perplexity").get<double>();
  };
  CHECK(answer("marked.txt") == answer("plain.txt"));
  CHECK(answer("plain.txt") == rows[0].at("perplexity").get<double>());
  const auto files = place.run({"predict", "run", "plain.txt", "zero.txt", "--jsonl"});
  CHECK_EXIT(files, 3);
  CHECK_SAYS(files, "zero.txt: it is no text: there is a zero byte");
}

}  // namespace flowtrain::predict_text_test
