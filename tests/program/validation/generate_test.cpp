// flowtrain generate, and val.samples: what a language model writes.

#include <doctest/doctest.h>

#include <sstream>

#include "sampling/core/text.h"
#include "tests/program/language_model.h"
#include "tests/program/refusals.h"
#include "tests/support/temp_run.h"

namespace flowtrain::generate_test {
namespace {

using nlohmann::json;

/// A language model of bytes that learns one sentence by heart: no letter pair of it goes on in two ways.
const std::string config_of_texts =
    with_plugins({"two_tokens"},
                 "name = \"tiny\"\n[run]\nthreads = 1\nmax_iter = 60\n"
                 "[data]\ndataset = \"manifest\"\npath = \"texts.csv\"\nval_share = 0.1\n"
                 "[[field]]\nname = \"tokens\"\nfrom = \"text\"\nas = \"tokens\"\nmax = 64\nend = \"<|endoftext|>\"\n"
                 "[loader]\nbatch = 8\nworkers = 2\n"
                 "[net]\nname = \"two_tokens\"\n[loss]\nname = \"output\"\n[val]\nmetrics = []\nevery = 20\n"
                 "[optim]\nname = \"adam\"\nlr = 0.1\n[snapshot]\nkeep_last = 4\n[display]\nevery = 5\n");
const std::string sentence = "the quick brown fox jumps över";

std::string table_of(const std::string& text) {
  std::string table = "text\n";
  for (int row = 0; row < 40; ++row) table += text + "\n";
  return table;
}

class TextRun : public TempRun {
 public:
  TextRun() : TempRun(config_of_texts) { folder().write("texts.csv", table_of(sentence)); }
};

std::vector<json> lines_of(const std::string& text) {
  std::vector<json> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(json::parse(line));
  return lines;
}

Outcome generate(const TempRun& place, const Words& words, const std::string& input = {}) {
  ProcessOptions options = place.process_options();
  if (!input.empty()) options.input = place.folder().write("input.txt", input);
  return run_program(with({"generate", "run"}, words), options);
}

}  // namespace

TEST_CASE("generate says what a net has learnt by heart, the same each time, in whole characters") {
  const TextRun place;
  REQUIRE_EXIT(place.train({"--run-dir", "run"}), 0);
  const auto said = generate(place, {"--prompt", "the q"});
  REQUIRE_EXIT(said, 0);
  CHECK(said.out == sentence + "\n");
  CHECK_SAYS(said, "1 text, 27 tokens in ");
  CHECK(generate(place, {"--prompt", "the q"}).out == said.out);

  // Prompts of several lengths, and the end by a number of tokens and by a text.
  const auto several = generate(place, {"--prompt", "fox", "--prompt", "jum", "--prompt", "the", "--max-tokens", "7",
                                        "--stop", "ps ", "--stop", "nothing"});
  REQUIRE_EXIT(several, 0);
  CHECK(several.out == "fox jum\n\njum\n\nthe quick \n");

  const auto answers =
      lines_of(generate(place, {"--json", "--prompt", "fox", "--prompt", "jum", "--max-tokens", "12"}).out);
  REQUIRE(answers.size() == 2);
  CHECK(answers[0].at("text") == " jumps över");
  CHECK(answers[0].at("prompt") == "fox");
  CHECK(answers[0].at("finish_reason") == "length");
  CHECK(answers[0].at("tokens") == 12);
  CHECK(answers[1].at("finish_reason") == "stop");
  CHECK(answers[1].at("tokens") == 9);
  CHECK(answers[1].at("seconds").get<double>() > 0);

  // Draws have their seed, and do not depend on the prompts beside.
  const Words draws{"--json", "--temperature", "3", "--prompt", "fox"};
  const auto text = [&](const Words& more) {
    const auto drawn = generate(place, with(draws, more));
    REQUIRE_EXIT(drawn, 0);
    return lines_of(drawn.out).front().at("text");
  };
  CHECK(text({"--seed", "1"}) == text({"--seed", "1", "--prompt", "the"}));
  CHECK(text({"--seed", "1"}) != text({"--seed", "2"}));
  CHECK(text({"--top-k", "1"}) == " jumps över");
  CHECK(text({"--min-p", "1"}) == " jumps över");
}

TEST_CASE("a run on packed tokens uses the tokenizer beside its shards, also from its own folder") {
  const TempRun place(
      "name = \"tiny\"\n[run]\nthreads = 1\nmax_iter = 40\n"
      "[data]\ndataset = \"tokens\"\npath = \"shards\"\nwindow = 12\n"
      "[[field]]\nname = \"tokens\"\nfrom = \"tokens\"\nas = \"lm\"\nmax = 12\nvocabulary = 320\n"
      "[loader]\nbatch = 8\nworkers = 2\n"
      "[net]\nname = \"gpt2\"\nlayers = 1\nheads = 2\nwidth = 32\nvocabulary = 320\n"
      "[loss]\nname = \"cross_entropy\"\nignore_index = -100\n[val]\nevery = 0\n"
      "[optim]\nname = \"adam\"\nlr = 0.02\n[snapshot]\nevery = 20\n");
  std::string text;
  for (int line = 0; line < 200; ++line) text += sentence + "\n";
  place.folder().write("texts/a.txt", text);
  place.folder().write("pack.toml", "[data]\ndataset = \"text\"\npath = \"texts\"\n");
  REQUIRE_EXIT(place.run({"tokenizer", "train", "--vocab", "280", "--out", "own.json", "--special", "<|endoftext|>",
                          "texts/a.txt"}),
               0);
  REQUIRE_EXIT(place.run({"pack", "pack.toml", "--tokens", "own.json", "--out", "shards"}), 0);
  REQUIRE_EXIT(place.train({"--run-dir", "run"}), 0);
  const auto said = generate(place, {"--prompt", "the quick", "--max-tokens", "6"});
  REQUIRE_EXIT(said, 0);
  CHECK(said.out.find("the quick brown") == 0);
  // The run's own configuration has all keys, also those that nobody gave.
  REQUIRE_EXIT(place.run({"run", "--max-iter", "60"}), 0);
  CHECK(generate(place, {"--prompt", "the quick", "--max-tokens", "6"}).out.find("the quick brown") == 0);
}

TEST_CASE("a text ends as the packed documents do, and --tokenizer names the tokenizer of a run that has moved") {
  const TempRun place(
      "name = \"tiny\"\n[run]\nthreads = 1\nmax_iter = 120\n"
      "[data]\ndataset = \"tokens\"\npath = \"shards\"\nwindow = 12\n"
      "[[field]]\nname = \"tokens\"\nfrom = \"tokens\"\nas = \"lm\"\nmax = 12\ntokenizer = \"own.json\"\n"
      "[loader]\nbatch = 8\nworkers = 2\n"
      "[net]\nname = \"gpt2\"\nlayers = 1\nheads = 2\nwidth = 32\n"
      "[loss]\nname = \"cross_entropy\"\nignore_index = -100\n[val]\nevery = 0\n"
      "[optim]\nname = \"adam\"\nlr = 0.02\n[snapshot]\nevery = 60\n");
  std::string text;
  for (int line = 0; line < 200; ++line) text += "the fox\n";
  place.folder().write("texts/a.txt", text);
  place.folder().write("pack.toml", "[data]\ndataset = \"text\"\npath = \"texts\"\nunit = \"line\"\n");
  REQUIRE_EXIT(
      place.run({"tokenizer", "train", "--vocab", "262", "--out", "own.json", "--special", "<|over|>", "texts/a.txt"}),
      0);
  REQUIRE_EXIT(place.run({"pack", "pack.toml", "--tokens", "own.json", "--end", "<|over|>", "--out", "shards"}), 0);
  REQUIRE_EXIT(place.train({"--run-dir", "run"}), 0);
  const Words words{"--prompt", "the", "--max-tokens", "30"};
  const auto said = generate(place, words);
  REQUIRE_EXIT(said, 0);
  CHECK(said.out == "the fox\n");
  std::filesystem::rename(place.path("own.json"), place.path("moved.json"));
  CHECK_EXIT(generate(place, words), 3);
  CHECK(generate(place, with(words, {"--tokenizer", "moved.json"})).out == "the fox\n");
}

TEST_CASE("a tokenizer that is not the one of the packed tokens is refused") {
  const TempRun place(
      "name = \"tiny\"\n[run]\nthreads = 1\nmax_iter = 1\n"
      "[data]\ndataset = \"tokens\"\npath = \"shards\"\nwindow = 12\n"
      "[[field]]\nname = \"tokens\"\nfrom = \"tokens\"\nas = \"lm\"\nmax = 12\n"
      "[loader]\nbatch = 8\nworkers = 2\n"
      "[net]\nname = \"gpt2\"\nlayers = 1\nheads = 2\nwidth = 32\n"
      "[loss]\nname = \"cross_entropy\"\nignore_index = -100\n[val]\nevery = 0\n"
      "[optim]\nname = \"adam\"\nlr = 0.02\n");
  std::string text, other;
  for (int line = 0; line < 200; ++line) text += sentence + "\n", other += concat("more words ", line, "\n");
  place.folder().write("texts/a.txt", text);
  place.folder().write("other.txt", other);
  place.folder().write("pack.toml", "[data]\ndataset = \"text\"\npath = \"texts\"\n");
  const auto learn = [&](const std::string& name, const std::string& file) {
    REQUIRE_EXIT(place.run({"tokenizer", "train", "--vocab", "265", "--out", name, "--special", "<|endoftext|>", file}),
                 0);
  };
  learn("own.json", "texts/a.txt");
  learn("other.json", "other.txt");
  REQUIRE_EXIT(place.run({"pack", "pack.toml", "--tokens", "own.json", "--out", "shards"}), 0);
  const auto with_tokenizer = [&](const std::string& name) {
    return place.train({"--run-dir", "run-" + name, "--set", "field.0.tokenizer=" + name});
  };
  check_refused(with_tokenizer("other.json"), 2,
                {"field.0.tokenizer: the ids were made by another tokenizer, ", "tokenizer.json: the id "});
  check_refused(with_tokenizer("bytes"), 2, {"it has 265 ids, and this one has 257"});
  check_refused(place.train({"--set", "field.0.tokenizer=own.json", "--set", "field.0.end=<|endoftext|>"}), 2,
                {"field.0.end: windows of stored ids have the ids that end documents"});
  // Other bytes may stand for the same tokens.
  place.folder().write("own.json", "\n" + read_text(place.path("own.json")));
  REQUIRE_EXIT(with_tokenizer("own.json"), 0);
}

TEST_CASE("a tokenizer whose file has changed since the snapshot is told") {
  const LanguageRun place;
  place.folder().write("other.txt", sentence + "\n" + sentence);
  const auto learn = [&](const std::string& text) {
    REQUIRE_EXIT(place.run({"tokenizer", "train", "--vocab", "262", "--out", "own.json", text}), 0);
  };
  const auto generated = [&] { return generate(place, {"--prompt", "the", "--max-tokens", "2"}); };
  const char* const told = "the contents of field.0.tokenizer have changed since the snapshot was made: ";
  learn("text.txt");
  REQUIRE_EXIT(place.train({"--run-dir", "run", "--max-iter", "2", "--set", "field.0.tokenizer=own.json", "--set",
                            "field.0.bytes=true"}),
               0);
  const auto before = generated();
  REQUIRE_EXIT(before, 0);
  CHECK(before.err.find(told) == std::string::npos);
  learn("other.txt");
  const auto refused = place.run({"tokenizer", "train", "--vocab", "262", "--out", "own.tiktoken", "other.txt"});
  CHECK_EXIT(refused, 2);
  CHECK_SAYS(refused, "--out own.tiktoken: the form that is written is tokenizer.json");
  for (const auto& after : {generated(), place.run({"test", "run"})}) {
    REQUIRE_EXIT(after, 0);
    CHECK_SAYS(after, told);
  }
}

TEST_CASE("generate answers lines of standard input and of files, and names those that it cannot use") {
  const TextRun place;
  REQUIRE_EXIT(place.train({"--run-dir", "run"}), 0);
  const auto served = generate(place, {"--prompts", "-"},
                               "{\"prompt\": \"fox\", \"id\": 7}\nno json\n{\"text\": 1, \"id\": \"b\"}\n"
                               "{\"prompt\": \"\"}\n{\"prompt\": \"the q\"}\n{\"prompt\": \"fox\", \"max_tokens\": 2}");
  CHECK_EXIT(served, 3);
  const auto answers = lines_of(served.out);
  REQUIRE(answers.size() == 6);
  CHECK(answers[0].at("id") == 7);
  CHECK(answers[0].at("text") == " jumps över");
  CHECK(answers[1].at("error") ==
        "the line is no JSON object; a request is a line as {\"prompt\": \"Once upon\", \"id\": 1}");
  CHECK(answers[2].at("id") == "b");
  CHECK(answers[2].contains("error"));
  CHECK(answers[3].at("prompt") == "");
  CHECK(answers[4].at("text") == "uick brown fox jumps över");
  CHECK(answers[5].at("error") == "\"max_tokens\" cannot be set by a line; the flag --max-tokens sets it for all");
  CHECK_SAYS(served, "3 of 6 prompts could not be used");
  // No line ends the service, and an id comes back as it was.
  const auto odd =
      lines_of(generate(place, {"--prompts", "-"},
                        std::string("{\"prompt\": \"a\0b\"}\n", 18) +
                            "{\"prompt\": \"fox\", \"id\": 123456789012345678901}\n{\"prompt\": \"fox\"}\n")
                   .out);
  REQUIRE(odd.size() == 3);
  CHECK(odd[0].contains("error"));
  CHECK(odd[1].at("error").get<std::string>().starts_with("its id has more digits than a number keeps"));
  CHECK(odd[2].at("text") == " jumps över");

  const auto lines = generate(place, {}, "fox\n\njum\n");
  REQUIRE_EXIT(lines, 0);
  CHECK(lines.out == "fox jumps över\n\njumps över\n");
  place.folder().write("prompts.txt",
                       "\xef\xbb\xbf"
                       "fox\r\n\njum\r\n");
  CHECK(generate(place, {"--prompts", "prompts.txt"}).out == "fox jumps över\n\njumps över\n");
  place.folder().write("prompts.jsonl", "{\"prompt\": \"fox\"}\n");
  CHECK(generate(place, {"--prompts", "prompts.jsonl"}).out == "fox jumps över\n");
  place.folder().write("none.txt", "\n");
  check_refused(generate(place, {"--prompts", "none.txt"}), 3, {"none.txt: there is no prompt in it"});
}

TEST_CASE("a prompt that is longer than the net takes counts with its end, and texts may grow beyond it") {
  const TextRun place;
  REQUIRE_EXIT(place.train({"--run-dir", "run", "--set", "net.length=8"}), 0);
  const auto said = generate(place, {"--prompt", "the quick bro"});
  REQUIRE_EXIT(said, 0);
  CHECK(said.out == sentence + "\n");
  CHECK_SAYS(said, "prompt 1 has 13 tokens, and the net takes 8: only its end counts");
}

TEST_CASE("generate refuses what is no run of a language model in one line") {
  const TempRun place;
  REQUIRE_EXIT(place.train({"--run-dir", "run", "--max-iter", "5"}), 0);
  check_refused(generate(place, {"--prompt", "a"}), 2,
                {"the run does not learn from texts: no [[field]] has a tokenizer"});
  check_refused(place.run({"generate", "nowhere", "--prompt", "a"}), 4, {"nowhere"});
  check_refused(generate(place, {"--prompt", "a", "--top-k", "3"}), 2, {"--top-k", "--temperature"});
  check_refused(generate(place, {"--prompt", "a", "--temperature", "nan"}), 2, {"nan is no number from 0 to 100"});
  check_refused(generate(place, {"--prompt", "a", "--temperature", "1", "--top-p", "0"}), 2,
                {"--top-p: 0 is no number from 1e-09 to 1"});
  check_refused(generate(place, {"--prompt", "a", "--iter", "77"}), 4, {"77"});
  check_refused(place.run({"generate", "run", "--prompt", "a", "--snapshot", "other"}), 4, {"other"});
}

TEST_CASE("val.samples shows what the net writes at each validation, and training is the same without it") {
  const TextRun place;
  const std::string samples = "val.samples=[\"the q\", \"fox\"]";
  REQUIRE_EXIT(place.train({"--run-dir", "plain"}), 0);
  const Words words{"--set", samples, "--set", "val.sample_tokens=40"};
  const auto shown = place.train(with(words, {"--run-dir", "shown"}));
  REQUIRE_EXIT(shown, 0);
  CHECK_SAYS(shown, "sample: \"the q\" -> \"uick brown fox jumps över\"");
  const auto lines = metrics_of(place.path("shown"), "samples");
  REQUIRE(lines.size() == 3);
  CHECK(lines.back().at("iter") == 60);
  const auto& last = lines.back().at("samples");
  REQUIRE(last.size() == 2);
  CHECK(last[0] == json{{"prompt", "the q"}, {"text", "uick brown fox jumps över"}});
  CHECK(last[1] == json{{"prompt", "fox"}, {"text", " jumps över"}});
  CHECK(end_of(place.path("shown")) == end_of(place.path("plain")));
  REQUIRE_EXIT(place.run({"replay", "shown", "--iter", "30", "--loss", "--out", "replayed"}), 0);

  // Beside training, in parts, and drawn.
  REQUIRE_EXIT(place.train(with(words, {"--run-dir", "async", "--set", "val.mode=async"})), 0);
  CHECK(metrics_of(place.path("async"), "samples").back().at("samples") == lines.back().at("samples"));
  CHECK(end_of(place.path("async")) == end_of(place.path("plain")));
  const Words drawn = with(words, {"--set", "val.sample_temperature=2"});
  REQUIRE_EXIT(place.train(with(drawn, {"--run-dir", "whole"})), 0);
  REQUIRE_EXIT(place.train(with(drawn, {"--run-dir", "parts", "--max-iter", "40"})), 0);
  REQUIRE_EXIT(place.run({"parts", "--max-iter", "60"}), 0);
  CHECK(end_of(place.path("parts")) == end_of(place.path("plain")));
  const auto whole = metrics_of(place.path("whole"), "samples"), parts = metrics_of(place.path("parts"), "samples");
  CHECK(whole == parts);
}

TEST_CASE("val.samples is refused at the key where the net cannot continue texts, and where a run has none") {
  const TextRun texts;
  const TempRun place;
  check_refused(place.train({"--set", "val.samples=[\"a\"]"}), 2, {"val.samples", "no [[field]] has a tokenizer"});
  const Words other = with(opening({"next_byte"}), {"--set", "net.name=next_byte", "--set", "val.samples=[\"a\"]"});
  check_refused(texts.train(other), 2, {"val.samples", "the net cannot continue texts"});
}

}  // namespace flowtrain::generate_test
