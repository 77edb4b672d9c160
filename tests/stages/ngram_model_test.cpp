// n-gram language models in the ARPA format.

#include "stages/decoding/ngram_model.h"

#include <doctest/doctest.h>

#include <cmath>

#include "sampling/core/error.h"
#include "tests/support/paths.h"
#include "tests/support/temp_folder.h"

namespace flowtrain::ngram_model_test {
namespace {

// The file lacks "dog cat", so the weight of "dog" and the probability of "cat" count.
const std::string trigram_file =
    "a comment\n\n\\data\\\nngram 1=5\nngram 2=3\nngram 3=1\n\n"
    "\\1-grams:\n-1.5\t<unk>\n-99\t<s>\t-0.5\n-1\t</s>\n-0.5\tcat\t-0.25\n-0.75\tdog\t-0.125\n\n"
    "\\2-grams:\n-0.25\t<s> cat\t-0.0625\n-0.375\tcat dog\t-0.03125\n-0.7\tdog </s>\n\n"
    "\\3-grams:\n-0.0078125\t<s> cat dog\n\n\\end\\\n";

double log10_of(const NgramModel& model, const std::vector<std::string>& text) {
  auto state = model.begin();
  double sum = 0;
  for (auto& word : text) sum += model.score(state, hash_of_word(word));
  return (sum + model.end(state)) / std::log(10.0);
}

std::string refusal_of(const std::string& text) {
  try {
    const NgramModel model(text, "lm.arpa");
  } catch (const UserError& error) {
    CHECK(error.code() == ExitCode::data);
    CHECK(error.hint().find("examples/ngram.py") != std::string::npos);
    return error.what();
  }
  return "";
}

std::string replaced(const std::string& from, const std::string& to) {
  std::string text = trigram_file;
  REQUIRE(text.find(from) != text.npos);
  return text.replace(text.find(from), from.size(), to);
}

}  // namespace

TEST_CASE("the longest n-gram of a text counts, and the weights of those that the file lacks") {
  const NgramModel model(trigram_file, "lm.arpa");
  CHECK(model.order() == 3);
  CHECK(model.words() == std::vector<std::string>{"<unk>", "<s>", "</s>", "cat", "dog"});
  CHECK(log10_of(model, {"cat"}) == doctest::Approx(-0.25 + (-0.0625 - 0.25 - 1)));  // </s> after <s> cat, after cat
  CHECK(log10_of(model, {"cat", "dog"}) == doctest::Approx(-0.25 - 0.0078125 + (-0.03125 - 0.7)));
  CHECK(log10_of(model, {"dog", "cat"}) ==
        doctest::Approx((-0.5 - 0.75) + (-0.125 - 0.5) + (-0.25 - 1)));  // "<s> dog" has no weight
  CHECK(log10_of(model, {"emu"}) == doctest::Approx((-0.5 - 1.5) - 1));
  CHECK(model.knows(hash_of_word("dog")));
  CHECK_FALSE(model.knows(hash_of_word("emu")));
}

TEST_CASE("files may lack special words, be packed, begin with a byte order mark, and end lines as on Windows") {
  const NgramModel marked("\xef\xbb\xbf\\data\\\nngram 1=1\n\\1-grams:\n-1 word\n\\end\\", "lm.arpa");
  CHECK(log10_of(marked, {"word"}) == doctest::Approx(-1));
  const NgramModel plain("\\data\\\nngram 1=1\n\\1-grams:\n-1 word\n\\end\\", "lm.arpa");
  CHECK(log10_of(plain, {"word"}) == doctest::Approx(-1));
  CHECK(log10_of(plain, {"other"}) == doctest::Approx(-100));
  std::string windows;
  for (const char c : trigram_file) windows += c == '\n' ? std::string("\r\n") : std::string(1, c);
  CHECK(log10_of(NgramModel(windows, "lm.arpa"), {"cat", "dog"}) ==
        log10_of(NgramModel(trigram_file, "lm.arpa"), {"cat", "dog"}));
  const TempFolder folder;
  const auto path = folder.write("lm.arpa", trigram_file).string();
  REQUIRE(std::system(("gzip -k '" + path + "'").c_str()) == 0);
  CHECK(log10_of(NgramModel::open(path + ".gz"), {"dog"}) == log10_of(NgramModel::open(path), {"dog"}));
}

TEST_CASE("a file that is no language model is refused with its line") {
  const std::vector<std::pair<std::string, std::string>> files{
      {"", "lm.arpa:0: there is no line \\data\\"},
      {"some text\n", "lm.arpa:1: there is no line \\data\\"},
      {"\\data\\\n\\1-grams:\n", "lm.arpa:2: expected \"ngram 1=COUNT\""},
      {"\\data\\\nngram 1=0\n", "lm.arpa:2: a model without words"},
      {replaced("ngram 1=5", "ngram 1=5000000000"), "lm.arpa:4: the file is too short for 5000000000 1-grams"},
      {replaced("ngram 1=5", "ngram 1=many"), "lm.arpa:4: expected \"ngram N=COUNT\""},
      {replaced("ngram 2=3", "ngram 3=3"), "lm.arpa:5: expected the number of 2-grams"},
      {replaced("ngram 1=5", "ngram 1=6"), "lm.arpa:15: there are 5 1-grams, but \\data\\ says 6"},
      {replaced("ngram 1=5", "ngram 1=4"), "lm.arpa:13: there are more than the 4 1-grams of \\data\\"},
      {replaced("\\2-grams:", "\\3-grams:"), "lm.arpa:15: expected \\2-grams:"},
      {replaced("-0.5\tcat\t-0.25", "nan\tcat"), "lm.arpa:12: 'nan' is no logarithm of a probability"},
      {replaced("-0.5\tcat\t-0.25", "0.5\tcat"), "lm.arpa:12: the logarithm of a probability is 0.5, above 0"},
      {replaced("cat dog\t-0.03125", "cat emu"), "lm.arpa:17: 'emu' is not among the 1-grams"},
      {replaced("cat dog\t-0.03125", "<s> cat"), "lm.arpa:17: this n-gram is there twice"},
      {replaced("-0.7\tdog </s>", "-0.7\tdog"), "lm.arpa:18: expected 2 words"},
      {replaced("-0.7\tdog </s>", "-0.7\tdog </s> -1 -1"), "lm.arpa:18: expected 2 words and two numbers"},
      {replaced("-0.7\tdog </s>", "-0.7\tdog </s> x"), "lm.arpa:18: 'x' is no weight of shorter n-grams"},
      {replaced("\\end\\\n", ""), "lm.arpa:22: expected \\end\\ after the 3-grams"},
      {trigram_file.substr(0, trigram_file.find("-0.0078125")), "lm.arpa:20: the file ends among the 3-grams"}};
  for (auto& each : files) {
    const std::string &text = each.first, &message = each.second;
    CAPTURE(message);
    CHECK(refusal_of(text).substr(0, message.size()) == message);
  }
  CHECK_THROWS_AS(NgramModel::open("/nowhere/lm.arpa"), UserError);
}

}  // namespace flowtrain::ngram_model_test
